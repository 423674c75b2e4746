//! The thread that keeps things moving while the program computes.
//!
//! Providers move data only while somebody calls them. If threads of the program do, by
//! waiting or by beginning operations, this one naps, so that they need not share the
//! endpoint with it. Otherwise it polls for a moment and then blocks until there is something
//! to do.

use std::ptr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::Error;
use crate::engine::Engine;

/// The shortest and the longest nap while the program polls.
const NAPS: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(2));
/// How long it may take until the owner is told of writes that nobody tells the helper of.
const UNTOLD: Duration = Duration::from_millis(2);
/// So long after a thread has handed over, it is taken to sleep still.
const SLEEP: Duration = Duration::from_millis(100);
/// The longest nap where there is nothing to block on and nothing happens.
const REST: Duration = Duration::from_millis(4);
/// Polls in vain after there was something to do, and after there was not.
const POLLS: usize = 32;
const GLANCES: usize = 2;
/// Blocks no longer than this: providers have timers of their own, which need a call.
const BLOCK: Duration = Duration::from_millis(20);

pub(crate) struct Helper {
    engine: Arc<Engine>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    pub(crate) fn start(engine: Arc<Engine>) -> Result<Helper, Error> {
        let its = engine.clone();
        // Signals are for the program's threads.
        let thread = with_signals_blocked(|| {
            std::thread::Builder::new()
                .name("shmem-fabric".into())
                .stack_size(256 << 10)
                .spawn(move || run(&its))
        })
        .map_err(|e| Error::new(format!("cannot start the helper thread: {e}")))?;
        Ok(Helper {
            engine,
            thread: Some(thread),
        })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.engine.bell.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

fn run(engine: &Engine) {
    let bell = &engine.bell;
    let mut turns = bell.turns();
    let mut naps = Naps::new();
    let mut ticked = Instant::now();
    let mut rest = NAPS.0;
    let mut woken = false;
    let told = engine.notifies_writes();
    let mut untold = None;
    let blocks = engine.endpoint.ready >= 0;
    while !bell.stopped() {
        if ticked.elapsed() >= engine.config.tick {
            ticked = Instant::now();
            engine.buffers.sweep();
            engine.events.tick();
        }
        let now = bell.turns();
        if now != turns && !bell.is_awaited() {
            let looks = now.wrapping_sub(turns);
            turns = now;
            if bell.nap(naps.next(looks)) {
                turns = bell.turns();
            }
            continue;
        }
        turns = now;
        naps = Naps::new();
        engine.gathers.flush(engine);
        if !told && bell.was_handed_over() {
            untold = Some(Instant::now());
        }
        let sleeping = untold.is_some_and(|since| since.elapsed() < SLEEP);
        let mut seen = usize::from(woken);
        let polls = if woken { POLLS } else { GLANCES };
        let mut vain = 0;
        // Not for ever, whatever comes: the tick tells other nodes that this one is alive.
        while vain < polls && bell.turns() == turns && ticked.elapsed() < engine.config.tick {
            match engine.harvest() {
                0 => vain += 1,
                n => {
                    seen += n;
                    vain = 0;
                    bell.wake();
                }
            }
        }
        if seen > 0 || sleeping {
            engine.events.memory_changed();
            bell.wake();
        }
        woken = false;
        if !blocks {
            bell.block(-1, rest);
            rest = if seen > 0 {
                NAPS.0
            } else {
                (rest * 2).min(if sleeping { UNTOLD } else { REST })
            };
        } else if engine.endpoint.may_sleep() {
            // Something gathered in the meantime must not wait for long.
            let limit = if engine.gathers.any() {
                NAPS.0
            } else if sleeping {
                UNTOLD
            } else {
                BLOCK.min(engine.config.tick)
            };
            // Asking whether it may sleep lets the provider work, too.
            woken = engine.attend() > 0 || bell.block(engine.endpoint.ready, limit);
        } else {
            std::thread::yield_now();
        }
    }
}

/// How long naps take: as long as the program has done nothing but poll. Whoever wakes up takes the
/// core from the program, for some 12 us: each 500 us that made everything 5% slower.
struct Naps {
    polling: Duration,
    /// When the last one began.
    since: Instant,
}

impl Naps {
    fn new() -> Naps {
        Naps {
            polling: Duration::ZERO,
            since: Instant::now(),
        }
    }

    /// The next one, after so many looks of the program since the last.
    fn next(&mut self, looks: usize) -> Duration {
        /// A program that does nothing else looks more often than this.
        const LOOK: Duration = Duration::from_micros(2);

        let passed = self.since.elapsed();
        let looks = looks.try_into().unwrap_or(u32::MAX);
        if passed < LOOK.saturating_mul(looks) {
            self.polling += passed;
        } else {
            self.polling = Duration::ZERO;
        }
        self.since = Instant::now();
        self.polling.clamp(NAPS.0, NAPS.1)
    }
}

fn with_signals_blocked<T>(f: impl FnOnce() -> T) -> T {
    // SAFETY: sets of signals that are written before they are read.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let result = f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        result
    }
}

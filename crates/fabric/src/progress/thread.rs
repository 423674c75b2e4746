//! The thread that makes progress while the program computes.
//!
//! Most providers move data only while a thread calls them. If threads of the program do, by
//! waiting or by issuing operations, this one sleeps, so that they need not share the
//! endpoint with it. Otherwise it polls for a moment and then blocks until there is something
//! to do.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ferroshmem_platform::thread;

use super::Progress;
use super::others::PollCounts;
use crate::Error;
use crate::am::Flush;
use crate::event_count::EventCount;

/// The shortest and the longest sleep while the program polls.
const SLEEPS: (Duration, Duration) = (Duration::from_micros(250), Duration::from_millis(2));
/// Longest time until [`Events::memory_changed`](crate::Events::memory_changed) follows writes that a device makes
/// without notifying this thread.
const UNNOTIFIED: Duration = Duration::from_millis(2);
/// Time after a thread has yielded progress during which it counts as asleep.
const ASLEEP: Duration = Duration::from_millis(100);
/// The longest sleep where the provider has no descriptor to block on and nothing happens.
const IDLE: Duration = Duration::from_millis(4);
/// Polls that find nothing before this thread blocks: after it was woken, and after a timeout.
const POLLS_WOKEN: usize = 32;
const POLLS_IDLE: usize = 2;
/// The longest time blocked: providers have timers of their own, which need a call.
const BLOCK: Duration = Duration::from_millis(20);

/// Ends its thread when dropped.
pub(crate) struct ProgressThread {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

impl ProgressThread {
    pub(crate) fn start(progress: Arc<Progress>) -> Result<ProgressThread, Error> {
        let its = progress.clone();
        let thread = thread::spawn("shmem-fabric", 256 << 10, move || run(&its))
            .map_err(|error| Error::ProgressThread { reason: error.to_string() })?;
        Ok(ProgressThread { progress, thread: Some(thread) })
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.progress.shared().event_count.stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

fn run(progress: &Progress) {
    let (shared, completions) = (progress.shared(), progress.completions());
    let (event_count, endpoint, events) = (&shared.event_count, &shared.endpoint, &shared.events);
    let ticks = &shared.ticks;
    ticks.begin();
    let tick = shared.config.tick;
    let notified = endpoint.notifies_writes();
    let mut polls = event_count.polls();
    let mut sleeps = Sleeps::new();
    let mut idle = SLEEPS.0;
    let mut woken = false;
    let mut yielded: Option<Instant> = None;
    let mut served = PollCounts::default();
    while !event_count.stopped() && !shared.shutdown.is_done() {
        if ticks.elapsed() >= tick {
            shared.buffers.sweep();
            shared.tick();
            progress.abandon_lost();
        }
        let now = event_count.polls();
        if now != polls && !event_count.has_waiters() {
            let n = now.wrapping_sub(polls);
            polls = now;
            if event_count.sleep(sleeps.next(n).min(shared.config.aggregate.delay)) {
                polls = event_count.polls();
            }
            progress.hand_over_all();
            completions.flush();
            progress.others.serve(&mut served, false);
            continue;
        }
        polls = now;
        sleeps = Sleeps::new();
        progress.first.flush();
        progress.hand_over_all();
        if !notified && event_count.take_yielded() {
            yielded = Some(Instant::now());
        }
        let owner_sleeps = yielded.is_some_and(|since| since.elapsed() < ASLEEP);
        let has_waiters = event_count.has_waiters();
        let mut seen = usize::from(woken) + progress.others.serve(&mut served, has_waiters);
        let limit = if woken { POLLS_WOKEN } else { POLLS_IDLE };
        let mut in_vain = 0;
        // Not for ever, whatever comes: the tick shows other nodes that this one is alive.
        while in_vain < limit && event_count.polls() == polls && ticks.elapsed() < tick {
            match completions.poll_uncounted(Flush::All) {
                0 => in_vain += 1,
                n => {
                    seen += n;
                    in_vain = 0;
                    progress.hand_over_all();
                    event_count.wake();
                }
            }
        }
        if seen > 0 || owner_sleeps {
            events.memory_changed();
            event_count.wake();
        }
        woken = false;
        let Some(ready) = endpoint.ready() else {
            event_count.block(&[], idle);
            idle = if seen > 0 { SLEEPS.0 } else { (idle * 2).min(if owner_sleeps { UNNOTIFIED } else { IDLE }) };
            continue;
        };
        let mut list = [ready; EventCount::MOST_READY];
        let others = progress.others.ready(&served, &mut list);
        if endpoint.may_sleep() && others.may_sleep {
            // Writes kept in the meantime must not wait for long.
            let limit = if progress.first.coalescer.has_pending_writes() || !completions.may_rest() {
                SLEEPS.0.min(shared.config.aggregate.delay)
            } else if owner_sleeps || others.is_soon {
                UNNOTIFIED
            } else {
                BLOCK.min(tick)
            };
            // Asking whether it may sleep lets the provider progress, too.
            woken = completions.serve(Flush::All) > 0 || event_count.block(&list[..others.n], limit);
        } else {
            std::thread::yield_now();
        }
    }
}

/// How long this thread sleeps while the program polls: as long as the program has done nothing else.
/// A thread that wakes up takes the core from the program, for some 12 us: every 500 us, that made
/// everything 5% slower.
struct Sleeps {
    polling: Duration,
    /// When the last one began.
    since: Instant,
}

impl Sleeps {
    fn new() -> Sleeps {
        Sleeps { polling: Duration::ZERO, since: Instant::now() }
    }

    /// The length of the next one, after the program has polled `polls` times since the last.
    fn next(&mut self, polls: usize) -> Duration {
        /// A program that does nothing else polls at shorter distances.
        const POLL: Duration = Duration::from_micros(2);

        let passed = self.since.elapsed();
        let polls = polls.try_into().unwrap_or(u32::MAX);
        if passed < POLL.saturating_mul(polls) {
            self.polling += passed;
        } else {
            self.polling = Duration::ZERO;
        }
        self.since = Instant::now();
        self.polling.clamp(SLEEPS.0, SLEEPS.1)
    }
}

//! Simulated PEs: threads that run one at a time, in the order of their numbers. A PE runs until it waits in
//! vain; the next one that does not sleep follows.

use std::cell::Cell;
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// What a PE does that waits in vain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    /// It looks again when its turn comes.
    Poll,
    /// It sleeps at once, until another PE wakes it.
    Sleep,
}

/// A PE as the others see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Ready,
    /// Asleep on the word at an address, for some of its bits.
    Asleep(usize, u32),
    Ended,
}

/// Calls of the futex by one PE.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FutexCalls {
    /// Those that sleep.
    pub waits: usize,
    /// Those that wake.
    pub wakes: usize,
}

struct Progress {
    running: usize,
    states: Vec<State>,
    calls: Vec<FutexCalls>,
    /// Turns that ended in vain.
    turns: usize,
}

struct Simulation {
    waits: Waits,
    progress: Mutex<Progress>,
    /// One for each PE: its turn has come.
    turn: Vec<Condvar>,
}

thread_local! {
    static CURRENT: Cell<Option<(&'static Simulation, usize)>> = const { Cell::new(None) };
}

/// More turns than any algorithm takes: the PEs wait for each other.
const MOST_TURNS: usize = 20_000;

impl Simulation {
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap()
    }

    /// Lets the next PE run that is ready, and waits for this one's turn.
    fn yield_turn(&self, me: usize) {
        let mut progress = self.lock();
        let pes = progress.states.len();
        progress.turns += 1;
        assert!(progress.turns < MOST_TURNS * pes, "PE {me} waits for ever");
        let after = (1..=pes).map(|i| (me + i) % pes);
        let next = after.clone().find(|pe| progress.states[*pe] == State::Ready);
        match next {
            Some(next) => {
                progress.running = next;
                self.turn[next].notify_one();
            }
            None => assert!(progress.states.iter().all(|s| *s == State::Ended), "all PEs sleep"),
        }
        if progress.states[me] == State::Ended {
            return;
        }
        while progress.running != me {
            progress = self.turn[me].wait(progress).unwrap();
        }
    }
}

/// Whether the calling thread is a simulated PE.
pub(crate) fn is_running() -> bool {
    CURRENT.get().is_some()
}

/// What a simulated PE does after an idle poll; None on other threads.
pub(crate) fn idle_poll() -> Option<Waits> {
    let (simulation, me) = CURRENT.get()?;
    if simulation.waits == Waits::Sleep {
        return Some(Waits::Sleep);
    }
    simulation.yield_turn(me);
    Some(Waits::Poll)
}

/// Lets each other PE run once that is ready.
pub fn let_others_run() {
    if let Some((simulation, me)) = CURRENT.get() {
        simulation.yield_turn(me);
    }
}

/// Sleeps until another simulated PE wakes this one; whether the calling thread is one.
pub(crate) fn futex_wait(word: usize, bits: u32) -> bool {
    let Some((simulation, me)) = CURRENT.get() else {
        return false;
    };
    let mut progress = simulation.lock();
    progress.calls[me].waits += 1;
    progress.states[me] = State::Asleep(word, bits);
    drop(progress);
    simulation.yield_turn(me);
    true
}

/// Wakes the simulated PEs that sleep on a word; whether the calling thread is one.
pub(crate) fn futex_wake(word: usize, bits: u32) -> bool {
    let Some((simulation, me)) = CURRENT.get() else {
        return false;
    };
    let mut progress = simulation.lock();
    progress.calls[me].wakes += 1;
    for state in &mut progress.states {
        if matches!(*state, State::Asleep(at, of) if at == word && of & bits != 0) {
            *state = State::Ready;
        }
    }
    true
}

/// The futex calls of the calling simulated PE so far.
pub fn futex_calls() -> FutexCalls {
    let (simulation, me) = CURRENT.get().expect("a simulated PE");
    simulation.lock().calls[me]
}

/// Keeps the calling thread on the first core that it may use: turns and changes of protection then need no
/// other core.
fn stay_on_one_core() {
    let mask = rustix::thread::sched_getaffinity(None).expect("the cores of this thread");
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| mask.is_set(*cpu));
    let mut one = rustix::thread::CpuSet::new();
    one.set(first.expect("a core"));
    rustix::thread::sched_setaffinity(None, &one).expect("the thread may use the core");
}

/// Runs `body` as each of `pes` PEs. A panic of one ends the process, since the others would wait for it.
pub fn run(pes: usize, waits: Waits, body: impl Fn(usize) + Sync) {
    /// Bytes of a PE's stack.
    const STACK: usize = 1 << 20;

    let simulation = Arc::new(Simulation {
        waits,
        progress: Mutex::new(Progress {
            running: 0,
            states: vec![State::Ready; pes],
            calls: vec![FutexCalls::default(); pes],
            turns: 0,
        }),
        turn: (0..pes).map(|_| Condvar::new()).collect(),
    });
    let pointer = Arc::as_ptr(&simulation);
    // SAFETY: the scope below ends before `simulation` does, and with it all threads that have this.
    let shared: &'static Simulation = unsafe { &*pointer };
    std::thread::scope(|scope| {
        for me in 0..pes {
            let body = &body;
            let thread = std::thread::Builder::new().stack_size(STACK);
            let start = move || {
                stay_on_one_core();
                let mut progress = shared.lock();
                while progress.running != me {
                    progress = shared.turn[me].wait(progress).unwrap();
                }
                drop(progress);
                CURRENT.set(Some((shared, me)));
                if let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(me))) {
                    let text = payload.downcast_ref::<String>().map_or("", String::as_str);
                    // Not by a macro, whose output the test runner would keep to itself.
                    let _ = writeln!(std::io::stderr(), "simulated PE {me} panicked: {text}");
                    std::process::abort();
                }
                CURRENT.set(None);
                shared.lock().states[me] = State::Ended;
                shared.yield_turn(me);
            };
            thread.spawn_scoped(scope, start).expect("threads");
        }
    });
}

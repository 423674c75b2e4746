//! The threads that take chunks: workers of the library, and threads of the program that lend themselves.

use std::fmt;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use ferroshmem_platform::thread;

use super::pools::Pools;
use super::{Config, ENGINE, collectives, events, idle_workers, set_thresholds, set_thresholds_for, tool};
use crate::failure::fatal::debug;
use crate::wait::progress;

/// How long a helper polls after its last chunk before it sleeps: the next transfer is often soon, and finds it awake
/// then.
const POLL: Duration = Duration::from_micros(50);

/// Who helps.
#[derive(Debug)]
pub(super) struct Helpers {
    state: AtomicU32,
    workers: AtomicU32,
    lent: AtomicU32,
    /// Why there are so many workers.
    why: AtomicU32,
    config: Mutex<Option<Config>>,
    pub(super) pools: Pools,
}

/// Values of `state`.
const UNSTARTED: u32 = 0;
const STARTED: u32 = 1;

/// Why there are as many workers as there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Why {
    /// No transfer has been large enough.
    NotNeeded,
    Given,
    /// They run while cores idle.
    CoresIdle,
    /// There are no more cores than PEs, or fewer.
    CoresUsed,
    /// A control group limits the time of all.
    Quota,
    /// OpenMP's threads help instead.
    OpenMp,
    /// The system starts no thread.
    Refused,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::NotNeeded => "no transfer has been large enough",
            Why::Given => "SHMEM_WORKERS says so",
            Why::CoresIdle => "they run while one of the job's cores idles",
            Why::CoresUsed => "there are more PEs than cores, or one core",
            Why::Quota => "a quota limits the processor time",
            Why::OpenMp => "threads of OpenMP help when they wait",
            Why::Refused => "the system starts no such thread",
        })
    }
}

impl Why {
    const ALL: [Why; 7] =
        [Why::NotNeeded, Why::Given, Why::CoresIdle, Why::CoresUsed, Why::Quota, Why::OpenMp, Why::Refused];
}

/// What is used, and why.
#[derive(Debug)]
pub struct Report {
    workers: u32,
    lent: u32,
    pooled: u32,
    why: Why,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, lent, pooled, .. } = self;
        let why = self.why;
        write!(f, "{workers} workers ({why}), {lent} threads lent")?;
        if tool::is_active() && why != Why::OpenMp {
            f.write_str(", threads of OpenMP when they wait")?;
        }
        match pooled {
            0 => Ok(()),
            _ => write!(f, ", {pooled} threads of pools"),
        }
    }
}

impl Helpers {
    pub(super) const fn none() -> Self {
        Self {
            state: AtomicU32::new(UNSTARTED),
            workers: AtomicU32::new(0),
            lent: AtomicU32::new(0),
            why: AtomicU32::new(Why::NotNeeded as u32),
            config: Mutex::new(None),
            pools: Pools::none(),
        }
    }

    pub(super) fn configure(&self, config: Config) {
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some(config);
    }

    /// The configuration is one that queues nothing from now on.
    pub(super) fn queue_nothing(&self) {
        let mut known = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = known.as_mut() {
            config.may_queue = false;
        }
    }

    #[inline(never)] // once for all
    fn config(&self) -> Option<Config> {
        *self.config.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Threads of the library that help now.
    pub(super) fn workers(&self) -> u32 {
        self.workers.load(Ordering::Relaxed)
    }

    /// Threads of the program that help now.
    pub(super) fn lent(&self) -> u32 {
        self.lent.load(Ordering::Relaxed)
    }

    /// How many help, after the first call also of workers.
    #[inline]
    pub(super) fn present(&self) -> usize {
        if self.state.load(Ordering::Acquire) == UNSTARTED {
            self.start();
        }
        let own = self.workers() + self.lent();
        (own + self.pools.idle()) as usize
    }

    /// Whether all need an idle core.
    pub(super) fn run_on_idle_cores(&self) -> bool {
        let has_idle_workers = self.why.load(Ordering::Relaxed) == Why::CoresIdle as u32;
        has_idle_workers && self.lent() == 0 && !self.pools.any()
    }

    /// Whether any may help, now or later without a call that says so.
    fn may_help(&self) -> bool {
        let here = self.workers() + self.lent() > 0;
        here || self.pools.any() || tool::is_active()
    }

    pub(super) fn report(&self) -> Report {
        let why = self.why.load(Ordering::Relaxed) as usize;
        Report { workers: self.workers(), lent: self.lent(), pooled: self.pools.threads(), why: Why::ALL[why] }
    }

    /// Starts the workers, once in the life of the process.
    #[cold]
    #[inline(never)]
    fn start(&self) {
        let Some(config) = self.config() else {
            return;
        };
        let state = &self.state;
        let first = state.compare_exchange(UNSTARTED, STARTED, Ordering::AcqRel, Ordering::Relaxed);
        if first.is_err() {
            return;
        }
        let (wanted, why) = match config.openmp == Some(true) && config.workers.is_none_or(|workers| workers == 0) {
            true => Self::instead_of_workers(&config),
            false => workers_of(&config),
        };
        self.why.store(why as u32, Ordering::Relaxed);
        for number in 0..wanted as usize {
            self.workers.fetch_add(1, Ordering::Relaxed);
            let started = match why {
                Why::CoresIdle => idle_workers::start(number, work, || ENGINE.helpers.without_worker()),
                _ => thread::spawn("shmem-worker", 64 << 10, work).map(drop),
            };
            if started.is_err() {
                self.without_worker();
                break;
            }
        }
        if !self.may_help() {
            set_thresholds_for(&config, false);
        }
        keep_from_children();
        debug(|| format!("large copies: {}", self.report()));
    }

    /// Whether threads of OpenMP are to help beside workers; true before this is known.
    pub(super) fn may_have_openmp(&self) -> bool {
        self.config().is_none_or(|config| config.openmp.is_none() && workers_of(&config).1 == Why::CoresIdle)
    }

    /// The workers of a PE whose threads of OpenMP are to help: none, unless those are refused.
    fn instead_of_workers(config: &Config) -> (u32, Why) {
        let Some(refusal) = tool::refusal() else {
            return (0, Why::OpenMp);
        };
        debug(|| format!("SHMEM_OPENMP has no effect: {refusal}"));
        idle_workers_of(config)
    }

    /// Notes that the system refuses a worker.
    fn without_worker(&self) {
        self.why.store(Why::Refused as u32, Ordering::Relaxed);
        self.workers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Notes that a thread lends itself, until the result is dropped.
    fn enter(&self) -> Lent<'_> {
        let none_were = self.lent.fetch_add(1, Ordering::Relaxed) == 0;
        if none_were && !tool::is_active() {
            self.ask_from_now_on();
        }
        Lent(self)
    }

    /// Sets the sizes from which helpers are asked for.
    pub(super) fn ask_from_now_on(&self) {
        if let Some(config) = self.config() {
            set_thresholds_for(&config, true);
        }
        keep_from_children();
    }
}

/// How many workers a PE has by what it is configured to, and why.
pub(super) fn workers_of(config: &Config) -> (u32, Why) {
    match config.workers {
        Some(given) => (given, Why::Given),
        None => idle_workers_of(config),
    }
}

/// How many of its workers run on idle cores alone, and why.
fn idle_workers_of(config: &Config) -> (u32, Why) {
    if config.cores.quota {
        // The PEs themselves use up what a group's quota gives.
        return (0, Why::Quota);
    }
    match idle_workers::number(config.cores.count, config.pes) {
        0 => (0, Why::CoresUsed),
        number => (number, Why::CoresIdle),
    }
}

struct Lent<'a>(&'a Helpers);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.0.lent.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a worker does until the process ends.
fn work() {
    let mut polls = POLL;
    loop {
        // One that has got its core too late polls for no further chunks: another thread wants the core.
        if ENGINE.has_chunks() || collectives::are_under_way() {
            execute_collectives();
            help_while(|| !collectives::are_under_way(), polls);
            if collectives::are_under_way() {
                continue;
            }
        }
        let begin = Instant::now();
        events::wait(ENGINE.events(), None, || ENGINE.has_chunks() || collectives::are_under_way());
        polls = next_polls(polls, polls + begin.elapsed());
    }
}

/// In a worker: executes collectives, and takes chunks, as long as there are collectives.
fn execute_collectives() {
    /// Other PEs may be late for as long as they compute.
    const LONGEST_PAUSE: Duration = Duration::from_millis(1);

    let mut since = Instant::now();
    while collectives::are_under_way() {
        if ENGINE.help() || progress::advance_collectives().has_advanced {
            ENGINE.starvation.answered();
            since = Instant::now();
            continue;
        }
        let idle = since.elapsed();
        if idle > POLL {
            // Other PEs wake no worker: it comes late by a part of what it has waited.
            events::wait(ENGINE.events(), Some((idle / 8).min(LONGEST_PAUSE)), || ENGINE.has_chunks());
        } else {
            std::hint::spin_loop();
        }
    }
}

/// How long a worker polls, after it has polled in vain and slept, and the next transfer came `gap` after the last one:
/// as long as it takes to be awake for transfers that come at such intervals, if these are short.
fn next_polls(polls: Duration, gap: Duration) -> Duration {
    /// A thread polls for many times what waking it takes at most.
    const LONGEST: Duration = Duration::from_millis(1);

    match gap < LONGEST {
        true => (2 * gap).min(LONGEST),
        false => (polls / 2).max(POLL),
    }
}

/// How a helper waits for chunks.
#[derive(Debug)]
pub(super) struct IdleTimes {
    /// How long it polls after its last chunk before it sleeps.
    polls: Duration,
    /// How long it sleeps at first, and after several times.
    sleeps: (Duration, Duration),
}

impl IdleTimes {
    /// Of a thread that may be let go without an event.
    const SHORT: IdleTimes = IdleTimes { polls: POLL, sleeps: (Duration::from_micros(50), Duration::from_millis(1)) };

    /// Of a thread that an event lets go. It polls so long that waking it takes little of the time.
    pub(super) const POSTED: IdleTimes =
        IdleTimes { polls: Duration::from_millis(1), sleeps: (Duration::from_millis(1), Duration::from_millis(100)) };
}

/// Takes chunks until there have been none for the time of `polls`, or the thread is not `free` any more; how many.
fn help_while(free: impl Fn() -> bool, polls: Duration) -> u32 {
    const POLLS: u32 = 16;

    let mut taken = 0;
    loop {
        let posts = events::posts(ENGINE.events());
        while ENGINE.help() {
            ENGINE.starvation.answered();
            taken += 1;
            if !free() {
                return taken;
            }
        }
        let since = Instant::now();
        while !events::come(ENGINE.events(), posts, POLLS) {
            let idle = since.elapsed();
            if !free() || idle > polls {
                return taken;
            }
            if idle > POLL {
                std::thread::yield_now();
            }
        }
        if !free() {
            return taken;
        }
    }
}

/// Lends the calling thread as long as it is `free`; how many chunks it has taken. It is not kept for longer than a
/// chunk takes, or, once it sleeps, than a millisecond.
pub fn lend_until(free: impl Fn() -> bool) -> u32 {
    lend_with(&free, &IdleTimes::SHORT)
}

/// Lends the calling thread as long as it is `free`.
pub(super) fn lend_with(free: &dyn Fn() -> bool, times: &IdleTimes) -> u32 {
    let _lent = ENGINE.helpers.enter();
    let (first, longest) = times.sleeps;
    let (mut taken, mut pause) = (0, first);
    while free() {
        match help_while(free, times.polls) {
            0 => pause = (pause * 2).min(longest),
            more => {
                taken += more;
                pause = first;
            }
        }
        if free() {
            let is_needed = || ENGINE.has_chunks() || !free();
            events::wait(ENGINE.events(), Some(pause), is_needed);
        }
    }
    taken
}

/// Lends the calling thread until `flag` is not 0, or for `time` at most.
pub fn lend(flag: Option<&AtomicI32>, time: Option<Duration>) -> u32 {
    let end = time.and_then(|time| Instant::now().checked_add(time));
    let is_set = || flag.is_some_and(|flag| flag.load(Ordering::Acquire) != 0);
    lend_until(|| !is_set() && end.is_none_or(|end| Instant::now() < end))
}

/// A child of `fork` has none of the threads, and chunks that they have taken are never finished there.
pub(super) fn keep_from_children() {
    static ONCE: Once = Once::new();
    extern "C" fn in_child() {
        set_thresholds(usize::MAX, usize::MAX);
        ENGINE.pending.forget_in_child();
        ENGINE.helpers.state.store(UNSTARTED, Ordering::Relaxed);
        ENGINE.helpers.workers.store(0, Ordering::Relaxed);
        ENGINE.helpers.lent.store(0, Ordering::Relaxed);
        idle_workers::forget_in_child();
        ENGINE.helpers.pools.forget_in_child();
    }
    ONCE.call_once(|| {
        // SAFETY: the handler is a plain function of this library, which stays loaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_polls_for_transfers_that_come_often_alone() {
        let us = Duration::from_micros;
        assert_eq!(next_polls(POLL, us(200)), us(400));
        assert_eq!(next_polls(POLL, us(900)), us(1_000));
        let mut polls = us(1_000);
        for expected in [500, 250, 125, 62, 50, 50] {
            polls = next_polls(polls, Duration::from_secs(1));
            assert_eq!(polls.as_micros(), expected);
        }
    }
}

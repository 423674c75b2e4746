//! A thread that runs only where a core is free, and says so to waiters that sleep.
//!
//! A waiter that finds another thread computing on its core sleeps. When that thread has gone, it should poll
//! again: what a plain store changes wakes no sleeper, and a wake-up takes ten times as long as a poll. But a waiter
//! that looks by itself costs the other thread switches, or itself a time slice.
//!
//! So it registers with the idle thread. This one has the policy `SCHED_IDLE`, which every thread
//! may take but not give back, and yields all the time. Beside a thread that computes it gets no thousandth of the
//! core. Once it has run for a millisecond, the core is free: it wakes the waiters, and sleeps.

use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};
use ferroshmem_platform::{self as platform, Limits, Scheduler, futex as private, thread};
use rustix::thread::{Pid, gettid, sched_getaffinity, sched_setaffinity};

use super::record::{Recorder, now_ms};
use crate::futex;

/// How a waiter sleeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// How long it sleeps before it registers with the idle thread; None: it does not.
    register_after: Option<Duration>,
}

impl Rest {
    /// Until it is woken.
    pub const UNTIL_WOKEN: Rest = Rest { register_after: None };

    /// For a waiter that has lost its core, and has waited for `waited`: until the core is free, too.
    pub(super) fn without_core(waited: Duration) -> Rest {
        /// Shorter waits are over before the idle thread has run.
        const SHORT: Duration = Duration::from_millis(2);
        Rest { register_after: Some(SHORT.saturating_sub(waited)) }
    }

    /// Sleeps while `word` is `expected`, at most `timeout`, until a thread wakes one of `bits`. May return early.
    pub(super) fn sleep(self, word: &AtomicU32, expected: u32, bits: u32, timeout: Option<Duration>) {
        let look = Recorder::longest_sleep();
        let timeout = timeout.map_or(look, |timeout| timeout.min(look));
        let (timeout, _sleeper) = match self.register_after {
            None => (timeout, None),
            Some(Duration::ZERO) => (timeout, IDLE.register(word, bits)),
            Some(first) => (timeout.min(first), None),
        };
        futex::wait(word, expected, bits, Some(timeout));
    }
}

/// The thread of this process, started for the first sleeper. It stays, asleep, until the process ends.
pub(super) static IDLE: IdleThread = IdleThread::new();

/// Where sleepers and the thread meet.
#[derive(Debug)]
pub(super) struct IdleThread {
    sleepers: [Sleeper; SLEEPERS],
    state: AtomicU32,
    tid: AtomicI32,
    /// How often it has found a core free.
    found: AtomicU32,
    rests: Rests,
}

/// Threads of a process that can be sleepers at once.
const SLEEPERS: usize = 16;

/// Values of `state`.
const NONE: u32 = 0;
const AWAKE: u32 = 1;
const ASLEEP: u32 = 2;
/// The system allows no such thread.
const REFUSED: u32 = 3;

/// A waiter that sleeps on a word; null: none, or not yet. The place is free while the bits are 0.
#[derive(Debug)]
struct Sleeper {
    word: AtomicPtr<u32>,
    bits: AtomicU32,
}

/// A sleeper's place, empty again when dropped.
#[derive(Debug)]
struct Registration<'a>(&'a Sleeper, *mut u32);

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        // The thread may have emptied it, and another waiter taken it.
        let word = &self.0.word;
        if word.compare_exchange(self.1, ptr::null_mut(), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            self.0.bits.store(0, Ordering::Release);
        }
    }
}

impl Sleeper {
    const fn none() -> Sleeper {
        Sleeper { word: AtomicPtr::new(ptr::null_mut()), bits: AtomicU32::new(0) }
    }

    /// Takes the place for one that is woken by `bits`, if it is free. The word follows: who finds it knows the bits.
    fn take(&self, bits: u32) -> bool {
        self.bits.compare_exchange(0, bits, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }
}

impl IdleThread {
    const fn new() -> Self {
        Self {
            sleepers: [const { Sleeper::none() }; SLEEPERS],
            state: AtomicU32::new(NONE),
            tid: AtomicI32::new(0),
            found: AtomicU32::new(0),
            rests: Rests::new(),
        }
    }

    /// At `now` milliseconds, a waiter has lost its core to a thread that computes.
    pub(super) fn lost(&self, now: u64) {
        self.rests.lost(now);
    }

    /// How often it has found a core free.
    pub(super) fn found(&self) -> u32 {
        self.found.load(Ordering::Relaxed)
    }

    /// A waiter is about to sleep on `word` for `bits`. It looks at the word afterwards, so a wake-up that comes
    /// before it sleeps may be lost: the thread that changes the word wakes it.
    fn register(&'static self, word: &AtomicU32, bits: u32) -> Option<Registration<'static>> {
        let at = word.as_ptr();
        let sleeper = self.sleepers.iter().find(|sleeper| sleeper.take(bits))?;
        sleeper.word.store(at, Ordering::Release);
        self.ring();
        Some(Registration(sleeper, at))
    }

    /// Wakes the thread on the core of the calling one, or starts it.
    fn ring(&'static self) {
        let Some(state) = try_wake::<Std>(&self.state) else {
            return;
        };
        if state == NONE {
            // Tests in this process stop all of its threads by signals, which this one would not get.
            if cfg!(test) || thread::spawn("shmem-idle", 64 << 10, || IDLE.run()).is_err() {
                self.state.store(REFUSED, Ordering::Relaxed);
            }
            return;
        }
        // Where a PE has several cores, its threads may be bound to one each.
        if let (Some(tid), Ok(cores)) = (Pid::from_raw(self.tid.load(Ordering::Relaxed)), sched_getaffinity(None)) {
            let _ = sched_setaffinity(Some(tid), &cores);
        }
        private::wake_private(&self.state);
    }

    fn has_sleepers(&self) -> bool {
        let is_taken = |sleeper: &Sleeper| !sleeper.word.load(Ordering::Relaxed).is_null();
        self.sleepers.iter().any(is_taken)
    }

    /// Until there is a sleeper.
    fn sleep(&self) {
        while !self.has_sleepers() {
            if !try_sleep::<Std>(&self.state, || self.has_sleepers()) {
                return;
            }
            while self.state.load(Ordering::Acquire) == ASLEEP {
                private::wait_private(&self.state, ASLEEP, None);
            }
        }
    }

    fn wake_sleepers(&self) {
        for sleeper in &self.sleepers {
            let word = sleeper.word.swap(ptr::null_mut(), Ordering::AcqRel);
            if !word.is_null() {
                wake_at(word, sleeper.bits.swap(0, Ordering::Release));
            }
        }
    }

    fn run(&self) {
        if !thread::become_idle() {
            self.state.store(REFUSED, Ordering::Relaxed);
            return;
        }
        let tid = gettid().as_raw_nonzero().get();
        self.tid.store(tid, Ordering::Relaxed);
        loop {
            self.sleep();
            std::thread::sleep(self.rests.next());
            match look(&mut platform::Core::default(), || self.has_sleepers()) {
                Core::Free => {
                    self.rests.found(now_ms());
                    self.found.fetch_add(1, Ordering::Relaxed);
                    self.wake_sleepers();
                }
                Core::Shared => self.rests.lengthen(),
                Core::Unwanted => {}
            }
        }
    }
}

/// Makes the idle thread awake for a sleeper that has registered; what its state was, if the caller is to wake or start
/// it.
pub fn try_wake<A: Atomics>(state: &A::U32) -> Option<u32> {
    // With the fence in `try_sleep`: either the thread sees the sleeper, or this sees it asleep.
    A::fence(Ordering::SeqCst);
    let wake = |state| matches!(state, NONE | ASLEEP).then_some(AWAKE);
    state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, wake).ok()
}

/// Shows the idle thread as asleep, unless there are sleepers; whether it is.
pub fn try_sleep<A: Atomics>(state: &A::U32, has_sleepers: impl FnOnce() -> bool) -> bool {
    state.store(ASLEEP, Ordering::Relaxed);
    A::fence(Ordering::SeqCst);
    let stays_awake = has_sleepers();
    if stays_awake {
        state.store(AWAKE, Ordering::Relaxed);
    }
    !stays_awake
}

/// Wakes the sleepers on a word that may be gone: the kernel looks at no more than its address.
fn wake_at(word: *mut u32, bits: u32) {
    let operation = libc::FUTEX_WAKE_BITSET;
    let nothing: *const libc::timespec = ptr::null();
    // SAFETY: the system call fails if there is no memory; a thread that is woken by mistake looks again.
    unsafe { libc::syscall(libc::SYS_futex, word, operation, i32::MAX, nothing, nothing, bits) };
}

/// What the thread finds out about its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Core {
    /// For a millisecond, no other thread has run for long.
    Free,
    /// It goes back and forth.
    Shared,
    /// No waiter wants to know any more.
    Unwanted,
}

/// Polls, as long as it is `wanted`, until it is clear whether the core is free. Beside a thread that computes the
/// calling one hardly runs, and goes on when it does.
fn look(scheduler: &mut impl Scheduler, wanted: impl Fn() -> bool) -> Core {
    const FREE: Duration = Duration::from_millis(1);
    /// The thread yields all the time: if it runs for longer, the other one is of another control group.
    const YIELDS: Duration = Duration::from_micros(200);
    const POLLS: u32 = 16;

    let mut since = scheduler.now();
    let mut last = since;
    while wanted() {
        let away = scheduler.offer();
        let now = scheduler.now();
        if away >= Limits::NODE.longest_away {
            if last - since >= YIELDS {
                return Core::Shared;
            }
            since = now;
        } else if now - since >= FREE {
            return Core::Free;
        }
        last = now;
        for _ in 0..POLLS {
            spin_loop();
        }
    }
    Core::Unwanted
}

/// How long the thread sleeps before it looks. Control groups that share a core have it alone for a time slice each:
/// it was not free if the waiters lose it soon, and they have cost the other group a slice.
#[derive(Debug)]
struct Rests {
    /// Milliseconds.
    rest: AtomicU32,
    /// When the core was found free, in milliseconds of [`now_ms`], if no waiter has lost it since; else 0.
    found: AtomicU64,
}

impl Rests {
    const fn new() -> Self {
        Self { rest: AtomicU32::new(0), found: AtomicU64::new(0) }
    }

    fn found(&self, now: u64) {
        self.found.store(now, Ordering::Relaxed);
    }

    /// A waiter has lost the core.
    fn lost(&self, now: u64) {
        /// Longer than time slices of groups.
        const SOON: u64 = 30;

        match self.found.swap(0, Ordering::Relaxed) {
            0 => {}
            // The waiter may have looked at the clock before.
            found if now.saturating_sub(found) < SOON => self.lengthen(),
            _ => {
                let rest = self.rest.load(Ordering::Relaxed) / 4;
                let rest = if rest < FIRST { 0 } else { rest };
                self.rest.store(rest, Ordering::Relaxed);
            }
        }
    }

    fn lengthen(&self) {
        const LONGEST: u32 = 10_000;

        let rest = self.rest.load(Ordering::Relaxed) * 4;
        self.rest.store(rest.clamp(FIRST, LONGEST), Ordering::Relaxed);
    }

    fn next(&self) -> Duration {
        Duration::from_millis(self.rest.load(Ordering::Relaxed).into())
    }
}

/// The shortest rest but none, in milliseconds.
const FIRST: u32 = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Instant;

    /// Others run for `others` at each offer after the first `alone` microseconds.
    struct Script {
        now: Instant,
        alone: Duration,
        others: Duration,
        begin: Instant,
    }

    impl Script {
        fn new(alone: u64, others: u64) -> Self {
            let now = Instant::now();
            Self { now, alone: Duration::from_micros(alone), others: Duration::from_micros(others), begin: now }
        }

        fn elapsed(&self) -> Duration {
            self.now - self.begin
        }
    }

    impl Scheduler for Script {
        fn now(&mut self) -> Instant {
            self.now
        }

        fn offer(&mut self) -> Duration {
            let is_alone = self.elapsed() < self.alone;
            let away = if is_alone { Duration::ZERO } else { self.others };
            self.now += Duration::from_micros(1) + away;
            away
        }

        fn sleeps(&mut self) {}
    }

    #[test]
    fn a_core_without_other_threads_is_free() {
        let mut alone = Script::new(0, 0);
        assert_eq!(look(&mut alone, || true), Core::Free);
        assert_eq!(alone.elapsed().as_millis(), 1);
        // Other waiters take it for microseconds only.
        assert_eq!(look(&mut Script::new(0, 3), || true), Core::Free);
    }

    #[test]
    fn a_core_on_which_a_thread_computes_is_not_free() {
        let looks = Cell::new(0);
        let wanted = || {
            looks.set(looks.get() + 1);
            looks.get() < 100
        };
        let mut beside = Script::new(0, 300_000);
        assert_eq!(look(&mut beside, wanted), Core::Unwanted);
        assert_eq!(looks.get(), 100);
        let mut other_group = Script::new(500, 3_000);
        assert_eq!(look(&mut other_group, || true), Core::Shared);
    }

    #[test]
    fn a_core_that_is_lost_soon_is_looked_at_less_often() {
        let rests = Rests::new();
        let mut now = 1000;
        let mut found_and_lost = |after| {
            now += 20_000;
            rests.found(now);
            rests.lost(now + after);
            // Once, however many waiters lose it.
            rests.lost(now + after + 1);
            rests.next().as_millis()
        };
        let rests = [5; 6].map(&mut found_and_lost);
        assert_eq!(rests, [40, 160, 640, 2560, 10_000, 10_000]);
        let rests = [100; 4].map(found_and_lost);
        assert_eq!(rests, [2500, 625, 156, 0]);
    }

    #[test]
    fn a_waiter_may_have_looked_at_the_clock_before_the_thread() {
        let rests = Rests::new();
        rests.found(1001);
        rests.lost(1000);
        assert_eq!(rests.next().as_millis(), 40);
    }

    /// No other thread can hide the record of its wait.
    #[test]
    fn a_sleeper_of_one_thread_sleeps_until_it_is_woken() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let sleep = |_: &u32| {
                    Rest::UNTIL_WOKEN.sleep(&word, 0, futex::ANY, None);
                    word.load(Ordering::Acquire) == 0
                };
                (1..).find(|count| !sleep(count))
            });
            std::thread::sleep(Duration::from_millis(2500));
            word.store(1, Ordering::Release);
            futex::wake(&word, futex::ANY);
            let sleeps = sleeper.join().unwrap();
            // A signal of another test may end one.
            assert!(sleeps < Some(3), "{sleeps:?} sleeps");
        });
    }

    /// Sleepers that have no place sleep as well, until what they wait for wakes them.
    #[test]
    fn sleepers_are_woken_and_leave_their_places() {
        /// A wake-up that comes before its waiter sleeps is lost, and the waiter looks again after this.
        const LOOK_AGAIN: Option<Duration> = Some(Duration::from_millis(10));
        static THREAD: IdleThread = IdleThread::new();
        let words: Vec<_> = (0..=SLEEPERS).map(|_| AtomicU32::new(0)).collect();
        let registered = AtomicU32::new(0);
        let woken = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for word in &words {
                scope.spawn(|| {
                    let place = THREAD.register(word, futex::ANY);
                    registered.fetch_add(1, Ordering::Release);
                    match place {
                        Some(Registration(sleeper, at)) => {
                            while sleeper.word.load(Ordering::Acquire) == at {
                                futex::wait(word, 0, futex::ANY, LOOK_AGAIN);
                            }
                        }
                        None => {
                            while word.load(Ordering::Acquire) == 0 {
                                futex::wait(word, 0, futex::ANY, None);
                            }
                        }
                    }
                    woken.fetch_add(1, Ordering::Release);
                });
            }
            let count = |of: &AtomicU32, end: usize| {
                while of.load(Ordering::Acquire) < end as u32 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            };
            // A place that is left early would be another waiter's.
            count(&registered, words.len());
            THREAD.wake_sleepers();
            count(&woken, SLEEPERS);
            for word in &words {
                word.store(1, Ordering::Release);
                futex::wake(word, futex::ANY);
            }
        });
        assert!(!THREAD.has_sleepers());
    }
}

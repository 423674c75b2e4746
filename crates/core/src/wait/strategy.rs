//! How long a waiter polls before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use ferroshmem_config::SPIN;
pub use ferroshmem_platform::Spins;
use ferroshmem_platform::{Backoff, Limits, Step, watch};

use ferroshmem_fabric::Fabric;

use super::budget::PollBudget;
use super::idle_thread::{IDLE, Rest};
use super::progress;
use super::record::{Recorder, WaitReason, now_ms, now_ns};
use super::suspension;
use crate::futex::ANY;
#[cfg(any(test, feature = "simulation"))]
use crate::simulation;
use ferroshmem_platform::NodeCores;

/// What a waiter does after a poll that found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Poll again at once.
    Poll,
    /// Poll for a moment, or let the processor watch the word.
    Watch,
    /// Sleep.
    Sleep(Rest),
    /// Wait no more: what is waited for does not come.
    GiveUp,
}

/// Decides between polling again and sleeping.
pub trait WaitStrategy {
    /// Called after each poll that found nothing.
    fn after_idle_poll(&mut self) -> Next;

    /// Hands the polls at the beginning, if there are such, to a loop that keeps their count in
    /// registers, where it costs nothing.
    #[inline]
    fn spins(&mut self) -> Spins {
        Spins::default()
    }

    /// How long to sleep at most, if not until a wake-up.
    fn longest_sleep(&self) -> Option<Duration> {
        None
    }

    /// What is waited for is about to happen: the wait begins anew.
    fn restart(&mut self) {}
}

/// How far the first waiter for a lock may be overtaken.
#[derive(Debug, Clone, Copy)]
pub struct Fairness {
    /// How often, at most 31 times.
    pub overtakes: u32,
    /// Periods of 16 microseconds, at whose second beginning since it became the first waiter it is overtaken
    /// no more.
    pub clock: fn() -> u64,
}

/// The job's way of waiting, set at start-up, and what this PE's waiters have learned about their cores.
#[derive(Debug)]
pub struct Policy {
    /// Polls at the beginning of a wait; fewer while another waiter is on the same core.
    spins: AtomicU32,
    /// Polls while none is.
    spins_alone: AtomicU32,
    /// The same while one is.
    spins_together: AtomicU32,
    yields: AtomicU32,
    cores: AtomicU32,
    oversubscribed: AtomicBool,
    quota: AtomicBool,
    /// Offers of the core in a row that no thread took.
    untaken: AtomicU32,
    /// Milliseconds (of [`now_ms`]) until which waiters sleep instead of offering their core, because
    /// another thread computes on it; 0: none does.
    computing_until: AtomicU64,
    /// For how many milliseconds this was assumed last.
    computing_for: AtomicU64,
    /// Until when a thread that computes may come back to the core, in the same milliseconds.
    suspect_until: AtomicU64,
    budget: PollBudget,
}

/// The policy in force.
pub static POLICY: Policy = Policy::new();

impl Policy {
    const fn new() -> Self {
        Self {
            spins: AtomicU32::new(SPIN.value.default),
            spins_alone: AtomicU32::new(SPIN.value.default),
            spins_together: AtomicU32::new(SPIN.value.oversubscribed),
            yields: AtomicU32::new(0),
            cores: AtomicU32::new(1),
            oversubscribed: AtomicBool::new(false),
            quota: AtomicBool::new(false),
            untaken: AtomicU32::new(0),
            computing_until: AtomicU64::new(0),
            computing_for: AtomicU64::new(0),
            suspect_until: AtomicU64::new(0),
            budget: PollBudget::new(),
        }
    }

    /// Sets the policy for `n_pes` PEs that may use `cores`; `spins` polls before a
    /// waiter gives up its core, if the user chose.
    ///
    /// Where PEs outnumber cores, giving up the core a few times before sleeping is several
    /// times as fast as sleeping at once: if all wait, each runs once per round, without the
    /// cost of a sleep and a wake-up. The fewer PEs share a core, the shorter such a round,
    /// so the number of yields is chosen such that together they take about as long.
    pub fn set(&self, n_pes: usize, cores: impl Into<NodeCores>, spins: Option<u32>) {
        /// Schedulings of PEs on one core during all yields of a wait.
        const SCHEDULINGS: usize = 256;

        let cores = cores.into();
        let oversubscribed = n_pes > cores.count;
        let alone = spins.unwrap_or(SPIN.value.default_for(oversubscribed));
        let together = spins.unwrap_or(SPIN.value.oversubscribed);
        let yields = if oversubscribed { (SCHEDULINGS * cores.count / n_pes).clamp(4, 64) as u32 } else { 0 };
        self.spins.store(alone, Ordering::Relaxed);
        self.spins_alone.store(alone, Ordering::Relaxed);
        self.spins_together.store(together, Ordering::Relaxed);
        self.yields.store(yields, Ordering::Relaxed);
        self.cores.store(cores.count as u32, Ordering::Relaxed);
        self.oversubscribed.store(oversubscribed, Ordering::Relaxed);
        self.quota.store(cores.quota, Ordering::Relaxed);
        self.untaken.store(0, Ordering::Relaxed);
        self.computing_until.store(0, Ordering::Relaxed);
        self.suspect_until.store(0, Ordering::Relaxed);
    }

    /// The polls at the beginning of a wait.
    #[inline]
    pub fn spins(&self) -> Spins {
        Spins::new(self.spins.load(Ordering::Relaxed))
    }

    /// The limits of a waiter when its spins are over, at `now` milliseconds.
    fn limits(&self, source: Source, now: impl FnOnce() -> u64) -> Limits {
        let yields = self.yields.load(Ordering::Relaxed);
        match source {
            Source::OtherNodes => {
                let spins = self.spins.load(Ordering::Relaxed);
                return Limits::internode(spins, yields, self.oversubscribed());
            }
            Source::RemoteVariable => return Limits::VARIABLE,
            Source::Variable if self.oversubscribed() => return Limits::VARIABLE,
            Source::Idle => return Limits::node_shared(yields),
            Source::Node if self.oversubscribed() => return Limits::node_shared(yields),
            Source::Node | Source::Variable => {}
        }
        let limits = if self.quota.load(Ordering::Relaxed) { Limits::NODE_QUOTA } else { Limits::NODE };
        let suspect_until = self.suspect_until.load(Ordering::Relaxed);
        if suspect_until == 0 {
            return limits;
        }
        let now = now();
        if now < self.computing_until.load(Ordering::Relaxed) {
            return limits.beside_computing(self.budget.take(now));
        }
        if now >= suspect_until {
            self.suspect_until.store(0, Ordering::Relaxed);
            return limits;
        }
        // An offer that is taken costs a time slice: a wait that ends soon makes none.
        Limits { poll_time: self.budget.take(now), ..limits }
    }

    /// After a waiter with the limits [`Limits::NODE`] has offered its core, and others ran on it
    /// for `away`; at `now` milliseconds.
    fn learn(&self, away: Duration, now: impl FnOnce() -> u64) {
        /// So many offers in a row that no thread takes show that a waiter has its core alone.
        const ALONE: u32 = 32;
        /// For how long a thread is taken to compute on the core, at first and at last. Each offer that
        /// it takes costs the waiter a time slice, a few milliseconds.
        const COMPUTING: (u64, u64) = (8, 1024);
        /// For how long it may come back: the scheduler moves threads between cores.
        const SUSPECT: u64 = 2048;

        if away.is_zero() {
            let untaken = self.untaken.load(Ordering::Relaxed);
            if untaken < ALONE {
                self.untaken.store(untaken + 1, Ordering::Relaxed);
            } else if untaken == ALONE {
                self.untaken.store(ALONE + 1, Ordering::Relaxed);
                let alone = self.spins_alone.load(Ordering::Relaxed);
                self.spins.store(alone, Ordering::Relaxed);
                self.computing_until.store(0, Ordering::Relaxed);
                self.computing_for.store(0, Ordering::Relaxed);
            }
            return;
        }
        self.untaken.store(0, Ordering::Relaxed);
        if away < Limits::NODE.longest_away {
            let together = self.spins_together.load(Ordering::Relaxed);
            self.spins.store(together, Ordering::Relaxed);
        } else {
            let (first, longest) = COMPUTING;
            let before = self.computing_for.load(Ordering::Relaxed);
            let time = (before * 2).clamp(first, longest);
            self.computing_for.store(time, Ordering::Relaxed);
            let now = now();
            IDLE.lost(now);
            self.computing_until.store(now + time, Ordering::Relaxed);
            self.suspect_until.store(now + SUSPECT, Ordering::Relaxed);
        }
    }

    /// How far the first waiter for a lock may be overtaken: where each PE has a core, not at all.
    #[inline]
    pub fn fairness(&self) -> Fairness {
        /// A grant to a PE that does not run costs some microseconds until it does: so many turns at the
        /// lock by PEs that run take about as long.
        const OVERTAKES: u32 = 16;

        Fairness { overtakes: if self.oversubscribed() { OVERTAKES } else { 0 }, clock: lock_clock }
    }

    /// How many cores the node's PEs may be on at a time.
    pub fn cores(&self) -> usize {
        self.cores.load(Ordering::Relaxed) as usize
    }

    /// Whether the node's PEs outnumber their cores.
    #[inline]
    pub fn oversubscribed(&self) -> bool {
        self.oversubscribed.load(Ordering::Relaxed)
    }
}

/// Periods of 16,384 ns.
fn lock_clock() -> u64 {
    now_ns() >> 14
}

/// Where that comes from which is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// From PEs of this node, which wake sleepers.
    Node,
    /// From PEs of this node, which may change a variable and wake no sleeper.
    Variable,
    /// From PEs of this node, which wake sleepers, but perhaps not for long: nothing is under way.
    Idle,
    /// From PEs of any node, by a variable that this PE fetches over the fabric.
    RemoteVariable,
    /// From PEs of other nodes, too.
    OtherNodes,
}

/// A wait after its spins. When it ends, the policy learns whether its polls have paid.
#[derive(Debug)]
struct Paced {
    backoff: Backoff,
    /// What was taken of the policy's budget.
    taken: Duration,
    /// How often the idle thread had found a core free, at the last look.
    found: u32,
}

impl Paced {
    fn new(limits: Limits) -> Self {
        Self { backoff: Backoff::new(limits), taken: limits.poll_time, found: IDLE.found() }
    }

    /// How the waiter sleeps. Under a quota, a free core is not the waiter's to use.
    fn rest(&self) -> Rest {
        if self.backoff.has_lost_core() && !POLICY.quota.load(Ordering::Relaxed) {
            Rest::without_core(self.backoff.waited())
        } else {
            Rest::UNTIL_WOKEN
        }
    }

    /// Whether the idle thread has found the core free.
    fn look_at_core(&mut self) {
        let found = IDLE.found();
        if self.found != found {
            self.found = found;
            self.backoff.regain_core();
            POLICY.computing_until.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        if !self.taken.is_zero() {
            POLICY.budget.ended(self.taken, self.backoff.waited());
        }
    }
}

/// A wait under way: counts its polls, and records a wait that lasts.
#[derive(Debug)]
pub struct Waiter<'a> {
    reason: WaitReason<'a>,
    /// The connection to other nodes, if what is waited for may come from there.
    internode: Option<&'static Fabric>,
    is_idle: bool,
    has_suspended: bool,
    spins: Spins,
    /// What follows the spins; made when they are over.
    backoff: Option<Paced>,
    recorder: Option<Recorder>,
}

impl<'a> Waiter<'a> {
    /// A wait for PEs of this node, under the policy in force.
    #[inline]
    pub fn new(reason: WaitReason<'a>) -> Self {
        let spins = if suspension::is_set() { Spins::default() } else { POLICY.spins() };
        Self { reason, internode: None, is_idle: false, has_suspended: false, spins, backoff: None, recorder: None }
    }

    /// A wait for PEs of this node that may not come for long: it sleeps after its spins.
    pub fn idle(reason: WaitReason<'a>) -> Self {
        Self { is_idle: true, ..Self::new(reason) }
    }

    /// A wait for PEs of this node and, over `fabric`, of others: its polls let the fabric progress.
    #[inline]
    pub fn internode(fabric: Option<&'static Fabric>, reason: WaitReason<'a>) -> Self {
        let node = Self::new(reason);
        if fabric.is_none() {
            return node;
        }
        Self { internode: fabric, spins: Spins::default(), ..node }
    }

    /// What follows the spins. Out of line, so that loops of spins stay short.
    #[cold]
    #[inline(never)]
    fn after_spins(&mut self, source: Source) -> Next {
        /// A wait of this length is recorded, whether or not its PE sleeps.
        const LONG: Duration = Duration::from_millis(1);

        if self.reason.is_over() {
            return Next::GiveUp;
        }
        if suspension::is_set() {
            if let Some(fabric) = self.internode {
                fabric.progress();
            }
            suspension::suspend(std::mem::replace(&mut self.has_suspended, true));
            // What resumed it may be a thread that waits.
            if !suspension::is_set() {
                self.restart();
            }
            return Next::Poll;
        }

        let paced = self.backoff.get_or_insert_with(|| Paced::new(POLICY.limits(source, now_ms)));
        paced.look_at_core();
        let step = paced.backoff.step();
        let (away, waited) = (paced.backoff.away(), paced.backoff.waited());
        let rest = paced.rest();
        if waited >= LONG && self.recorder.is_none() {
            self.record();
        }
        if progress::make_progress(self.reason.kind) && step == Step::Sleep {
            // What it attends to wakes no sleeper.
            self.record();
            self.sleep(rest);
            return Next::Poll;
        }
        match (step, self.internode) {
            // What arrives meanwhile, also for other PEs than this one waits for, is answered in
            // half of the time that the progress thread takes, which must wake up for it.
            (Step::Poll | Step::Offered, Some(fabric)) => {
                if fabric.progress() > 0
                    && let Some(paced) = &mut self.backoff
                {
                    paced.backoff.served();
                }
                Next::Poll
            }
            (Step::Offered, None) => {
                POLICY.learn(away, now_ms);
                // A thread that took the core may be the one that is waited for.
                if away.is_zero() { Next::Watch } else { Next::Poll }
            }
            (Step::Poll | Step::Yielded, _) => Next::Poll,
            (Step::Sleep, internode) => {
                self.record();
                if let Some(fabric) = internode {
                    // The progress thread stays away while other threads let the fabric progress.
                    fabric.yield_progress();
                }
                Next::Sleep(rest)
            }
        }
    }

    /// Something has come from another node after this waiter slept for `slept`.
    pub fn reset(&mut self, slept: Duration) {
        if self.internode.is_some()
            && let Some(paced) = &mut self.backoff
        {
            paced.backoff.reset_after_sleep(slept);
        }
    }

    /// Shows the wait; again if another thread's was shown meanwhile, and has ended.
    fn record(&mut self) {
        if self.recorder.as_ref().is_none_or(Recorder::is_hidden) {
            self.recorder = Some(Recorder::start(&self.reason));
        }
    }

    /// For a variable of this node whose change no PE announces: waits a little, longer each time.
    /// `unchanged` polls it. `at` is its address, or that of one of several.
    ///
    /// # Safety
    /// `at` is readable.
    pub unsafe fn pause_at(&mut self, at: *const u8, mut unchanged: impl FnMut() -> bool) {
        match self.next(Source::Variable) {
            Next::Poll | Next::GiveUp => {}
            // SAFETY: the caller promises that `at` is readable.
            Next::Watch => unsafe { watch(at, &mut unchanged) },
            Next::Sleep(rest) => self.sleep(rest),
        }
    }

    /// The same for a variable that is polled over the fabric.
    pub fn pause(&mut self) {
        if let Next::Sleep(rest) = self.next(Source::RemoteVariable) {
            self.sleep(rest);
        }
    }

    fn sleep(&mut self, rest: Rest) {
        if let Some(paced) = &mut self.backoff {
            let nothing = AtomicU32::new(0);
            let time = paced.backoff.next_sleep();
            rest.sleep(&nothing, 0, ANY, Some(time));
        }
    }

    #[inline]
    fn next(&mut self, source: Source) -> Next {
        if self.spins.again() {
            return Next::Poll;
        }
        self.after_spins(source)
    }
}

impl WaitStrategy for Waiter<'_> {
    #[inline]
    fn after_idle_poll(&mut self) -> Next {
        #[cfg(any(test, feature = "simulation"))]
        if let Some(waits) = simulation::idle_poll() {
            return match waits {
                simulation::Waits::Poll => Next::Poll,
                simulation::Waits::Sleep => Next::Sleep(Rest::UNTIL_WOKEN),
            };
        }
        self.next(match self.internode {
            None if self.is_idle => Source::Idle,
            None => Source::Node,
            Some(_) => Source::OtherNodes,
        })
    }

    #[inline]
    fn spins(&mut self) -> Spins {
        #[cfg(any(test, feature = "simulation"))]
        if simulation::is_running() {
            return Spins::default();
        }
        std::mem::take(&mut self.spins)
    }

    fn longest_sleep(&self) -> Option<Duration> {
        self.reason.longest_sleep()
    }

    fn restart(&mut self) {
        self.spins = POLICY.spins();
        self.backoff = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLICE: Duration = Duration::from_millis(3);
    const SWITCH: Duration = Duration::from_micros(2);

    fn policy(n_pes: usize, cores: impl Into<NodeCores>, spins: Option<u32>) -> Policy {
        let policy = Policy::new();
        policy.set(n_pes, cores, spins);
        policy
    }

    fn spins(policy: &Policy) -> u32 {
        policy.spins.load(Ordering::Relaxed)
    }

    #[test]
    fn pes_with_a_core_each_look_for_long() {
        let fits = policy(4, 4, None);
        for source in [Source::Node, Source::Variable] {
            assert_eq!(fits.limits(source, || 0), Limits::NODE);
        }
        let (count, quota) = (4, true);
        let limited = policy(4, NodeCores { count, quota }, None);
        assert_eq!(limited.limits(Source::Node, || 0), Limits::NODE_QUOTA);
        let outnumber = policy(5, 4, None);
        let limits = [Source::Node, Source::Variable].map(|s| outnumber.limits(s, || 0));
        assert_eq!(limits, [Limits::node_shared(64), Limits::VARIABLE]);
        assert!(limits.iter().all(|l| l.offer_time.is_zero()));
        assert_eq!((spins(&fits), spins(&outnumber)), (2000, 20));
        assert_eq!(spins(&policy(5, 4, Some(7))), 7);
    }

    /// While another thread computes on a waiter's core, later waiters do not offer it a time slice
    /// each; now and then one looks whether it still does.
    #[test]
    fn a_neighbour_that_computes_is_remembered() {
        let p = policy(2, 2, None);
        p.learn(SLICE, || 1000);
        for source in [Source::Node, Source::Variable] {
            let limits = p.limits(source, || 1007);
            assert_eq!(limits, Limits::NODE.beside_computing(limits.poll_time));
        }
        // What may be polled is used up by waits that last.
        assert!(p.limits(Source::Node, || 1007).poll_time.is_zero());
        assert_eq!(p.limits(Source::Node, || 1008), Limits::NODE);
        assert!(!p.limits(Source::Node, || 2000).core_is_lost);
        assert!(!p.limits(Source::Node, || 2000).poll_time.is_zero());
        let mut now = 2000;
        for expected in [16, 32, 64, 128, 256, 512, 1024, 1024] {
            p.learn(SLICE, || now);
            assert_eq!(p.computing_until.load(Ordering::Relaxed), now + expected);
            now += expected;
        }
        for _ in 0..=32 {
            p.learn(Duration::ZERO, || unreachable!());
        }
        assert!(!p.limits(Source::Node, || now).core_is_lost);
        // After a while without one, waits are what they were.
        assert_eq!(p.limits(Source::Node, || now + 2048), Limits::NODE);
        p.learn(SLICE, || 9000);
        assert_eq!(p.computing_until.load(Ordering::Relaxed), 9008);
        assert_eq!(spins(&p), 2000);
    }

    /// Waiters that find themselves on one core yield early, until they are apart again.
    #[test]
    fn waiters_together_spin_little() {
        let p = policy(2, 2, None);
        p.learn(SWITCH, || unreachable!());
        assert_eq!(spins(&p), 20);
        assert_eq!(p.limits(Source::Node, || 0), Limits::NODE);
        for _ in 0..=32 {
            assert_eq!(spins(&p), 20);
            p.learn(Duration::ZERO, || unreachable!());
        }
        assert_eq!(spins(&p), 2000);
        // What the user chose holds.
        let p = policy(2, 2, Some(5000));
        p.learn(SWITCH, || unreachable!());
        assert_eq!(spins(&p), 5000);
    }
}

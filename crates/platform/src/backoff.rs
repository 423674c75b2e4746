//! When a thread that waits polls, offers its core to other threads, and sleeps.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use crate::offer::{Core, Scheduler};

/// Polls in a row without giving up the core: what a wait begins with. A value of its own, so
/// that loops can keep it in registers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spins {
    polls: u32,
    limit: u32,
}

impl Spins {
    /// `limit` polls.
    #[inline]
    pub fn new(limit: u32) -> Self {
        Self { polls: 0, limit }
    }

    /// One more poll, if the limit allows it.
    #[inline]
    pub fn again(&mut self) -> bool {
        /// Polls before the first `pause` instruction. A pause is about as long as a cache
        /// line takes between two cores: in an exchange of single lines it would be a third
        /// of the time.
        const WITHOUT_PAUSE: u32 = 500;

        if self.polls < self.limit {
            self.polls += 1;
            if self.polls > WITHOUT_PAUSE {
                spin_loop();
            }
            return true;
        }
        false
    }

    /// The limit.
    pub fn limit(&self) -> u32 {
        self.limit
    }
}

/// The limits of a back-off. A wait goes through its phases in this order:
///
/// | phase | ends | [node](Limits::NODE) | [internode](Limits::internode) | [completion](Limits::completion) | [variable](Limits::VARIABLE) |
/// |---|---|---|---|---|---|
/// | polls in a row | after `polls` | `SHMEM_SPIN`, or 2,000; 20 if PEs outnumber cores | as node, at most 500 | – | as node |
/// | polls, with a look at the clock at every `stride`th | after `poll_time` | none; up to 250 µs where another thread may compute on the core | – | `Config::spin` (50 µs) | – |
/// | polls, with an offer of the core at every `stride`th | after `offer_time`, or when others ran for `longest_away` | 10 s, 250 µs under a quota; or 200 µs away, then for 40 ms and twice as long each time; none if PEs outnumber cores | 3 ms at first; 20 ms, or 300 µs if little comes, after a sleep | 2 ms; 100 µs if another thread took the core | as node |
/// | the core is given up between polls | after `yields` | 0; 4 to 64 if PEs outnumber cores | as node | – | 0; 256 if PEs outnumber cores |
/// | sleeps | when woken | a futex | a futex | a futex, 2 ms | 20 µs, doubling every 8 sleeps to 2.5 ms; 80 µs, doubling each time, beside a thread that computes |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Polls in a row at the beginning.
    pub polls: u32,
    /// Polls from one look at the clock to the next.
    pub stride: u32,
    /// The same after an offer of the core that another thread took.
    pub stride_taken: u32,
    /// How long the waiter keeps its core, counted from the first look at the clock.
    pub poll_time: Duration,
    /// How long it then offers its core, at each look at the clock.
    pub offer_time: Duration,
    /// The same once another thread has taken the core.
    pub offer_time_taken: Duration,
    /// The core was offered, and others ran on it for this long: they compute, so it is theirs, and the
    /// waiter sleeps, and offers it again only to see whether it is free.
    pub longest_away: Duration,
    /// Another thread computes on the core when the wait begins.
    pub core_is_lost: bool,
    /// How often it then gives up its core, which other waiters need to get on.
    pub yields: u32,
}

/// No phase by the clock.
const NO_CLOCK: Limits = Limits {
    polls: 0,
    stride: 1,
    stride_taken: 1,
    poll_time: Duration::ZERO,
    offer_time: Duration::ZERO,
    offer_time_taken: Duration::ZERO,
    longest_away: Duration::MAX,
    core_is_lost: false,
    yields: 0,
};

/// How long a waiter for PEs of its node offers its core, where each PE has one. Then a wake-up takes
/// less than a hundred thousandth of the wait, and the core can rest.
const OFFER_NODE: Duration = Duration::from_secs(10);
/// The same under a quota.
const OFFER_QUOTA: Duration = Duration::from_micros(250);
/// For how long a waiter sleeps at first before it looks whether the thread that computed on its core still
/// does. If it does, the look takes a time slice: a tenth of this time.
const LOST: Duration = Duration::from_millis(40);
/// Other waiters on the same core give it back within microseconds, a thread that computes when the
/// scheduler takes it away, after 1 to 4 ms.
const LONGEST_AWAY: Duration = Duration::from_micros(200);

/// How long a waiter for other nodes offers its core before the first sleep, and from one sleep to
/// the next where much comes and where little does.
const OFFER_FIRST: Duration = Duration::from_millis(3);
const OFFER_BUSY: Duration = Duration::from_millis(20);
const OFFER_QUIET: Duration = Duration::from_micros(300);

impl Limits {
    /// For what PEs of the same node do, where each has a core: as long as nothing else computes on the
    /// waiter's core, it keeps looking. The waiter's polls are [`Spins`].
    pub const NODE: Limits =
        Limits { offer_time: OFFER_NODE, offer_time_taken: OFFER_NODE, longest_away: LONGEST_AWAY, ..NO_CLOCK };

    /// The same where a control group limits the time that the node's PEs may use: polling takes from
    /// what their threads need, and the group is stopped for a tenth of a second when it is used up.
    pub const NODE_QUOTA: Limits = Limits { offer_time: OFFER_QUOTA, offer_time_taken: OFFER_QUOTA, ..Limits::NODE };

    /// These, while another thread is known to compute on the waiter's core: it polls for `poll_time`, and does
    /// not offer the core.
    pub const fn beside_computing(self, poll_time: Duration) -> Limits {
        Limits { poll_time, core_is_lost: true, ..self }
    }

    /// For what PEs of the same node do, where the core is shared. The waiter's polls are [`Spins`].
    pub const fn node_shared(yields: u32) -> Limits {
        Limits { yields, ..NO_CLOCK }
    }

    /// For what PEs of other nodes do, where each poll lets the fabric progress. `spins`: polls of
    /// a waiter for PEs of its node. Where PEs outnumber cores the waiter offers its core only by
    /// `yields`, and sleeps soon.
    pub fn internode(spins: u32, yields: u32, oversubscribed: bool) -> Limits {
        const POLLS: u32 = 500;
        const STRIDE: u32 = 32;
        let offer_time = if oversubscribed { Duration::ZERO } else { OFFER_FIRST };
        Limits {
            polls: spins.min(POLLS),
            stride: STRIDE,
            stride_taken: 1,
            poll_time: Duration::ZERO,
            offer_time,
            offer_time_taken: offer_time,
            yields,
            ..NO_CLOCK
        }
    }

    /// For completions of the fabric's operations. `poll_time`: zero where PEs outnumber cores.
    pub const fn completion(poll_time: Duration) -> Limits {
        let stride = if poll_time.is_zero() { 1 } else { 8 };
        Limits {
            polls: 0,
            stride,
            stride_taken: stride,
            poll_time,
            offer_time: Duration::from_millis(2),
            offer_time_taken: Duration::from_micros(100),
            ..NO_CLOCK
        }
    }

    /// For variables whose change no PE announces, where PEs outnumber cores or the variable is fetched
    /// over the fabric; else [`Limits::NODE`].
    pub const VARIABLE: Limits = Limits::node_shared(256);

    fn has_clock(&self) -> bool {
        !(self.poll_time.is_zero() && self.offer_time.is_zero())
    }
}

/// Times that a waiter gives up its core from one look at the clock to the next.
const YIELDS_PER_LOOK: u32 = 4;

/// What a waiter does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Poll again.
    Poll,
    /// Poll again; the core was offered to other threads, which ran for [`Backoff::away`].
    Offered,
    /// Look again; the core was given up, maybe to a thread that the waiter waits for.
    Yielded,
    /// Sleep.
    Sleep,
}

/// A wait since something happened last.
#[derive(Debug)]
pub struct Backoff<S = Core> {
    limits: Limits,
    scheduler: S,
    polls: u32,
    /// The first look at the clock.
    since: Option<Instant>,
    /// From then to the last look at the clock.
    waited: Duration,
    /// The first look at the clock since something came from another node.
    quiet_since: Option<Instant>,
    /// From then to the last look at the clock.
    quiet: Duration,
    /// How long others ran on the core when it was offered last.
    away: Duration,
    /// Another thread took the core when it was offered.
    ever_taken: bool,
    /// How long the wait had lasted when another thread was found to compute on the core, and for how long this
    /// is taken to be so.
    lost: Option<(Duration, Duration)>,
    yields: u32,
    sleeps: u32,
}

impl Backoff {
    /// A wait that begins.
    #[inline]
    pub fn new(limits: Limits) -> Backoff {
        Backoff::on(limits, Core::default())
    }
}

impl<S: Scheduler> Backoff<S> {
    /// A wait that begins, on a scheduler.
    #[inline]
    pub fn on(limits: Limits, scheduler: S) -> Self {
        Self {
            limits,
            scheduler,
            polls: 0,
            since: None,
            waited: Duration::ZERO,
            quiet_since: None,
            quiet: Duration::ZERO,
            away: Duration::ZERO,
            ever_taken: false,
            lost: limits.core_is_lost.then_some((Duration::ZERO, LOST)),
            yields: 0,
            sleeps: 0,
        }
    }

    /// After a poll that found nothing.
    pub fn step(&mut self) -> Step {
        let limits = &self.limits;
        self.polls = self.polls.saturating_add(1);
        if self.polls <= limits.polls {
            return Step::Poll;
        }
        if limits.has_clock() {
            let stride = if self.away.is_zero() { limits.stride } else { limits.stride_taken };
            if !self.polls.is_multiple_of(stride) {
                return Step::Poll;
            }
            let now = self.scheduler.now();
            self.waited = now - *self.since.get_or_insert(now);
            self.quiet = now - *self.quiet_since.get_or_insert(now);
            let offer_time = if self.ever_taken { limits.offer_time_taken } else { limits.offer_time };
            if self.quiet < limits.poll_time {
                return Step::Poll;
            }
            let is_lost = self.lost.is_some_and(|(at, time)| self.waited < at + time);
            if self.quiet < limits.poll_time + offer_time && !is_lost {
                self.away = self.scheduler.offer();
                self.ever_taken |= !self.away.is_zero();
                if self.away >= limits.longest_away {
                    let time = self.lost.map_or(LOST, |(_, time)| time * 2);
                    self.lost = Some((self.waited + self.away, time));
                } else {
                    self.lost = None;
                }
                return Step::Offered;
            }
        }
        if self.yields < limits.yields {
            // Beside threads that compute, each time slice given away lasts for milliseconds.
            if self.yields.is_multiple_of(YIELDS_PER_LOOK) {
                let now = self.scheduler.now();
                self.waited = now - *self.since.get_or_insert(now);
            }
            self.yields += 1;
            // The C library's function is in a page that a PE which starts needs for nothing else.
            rustix::thread::sched_yield();
            return Step::Yielded;
        }
        self.scheduler.sleeps();
        Step::Sleep
    }

    /// How long the wait has lasted, from the first to the last look at the clock.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// How long others ran on the core when it was offered last.
    pub fn away(&self) -> Duration {
        self.away
    }

    /// Whether the waiter sleeps because another thread computes on its core.
    pub fn has_lost_core(&self) -> bool {
        let time = self.limits.poll_time + self.limits.offer_time;
        self.lost.is_some() && self.quiet < time
    }

    /// The core is free: the waiter may poll on it again.
    pub fn regain_core(&mut self) {
        self.lost = None;
    }

    /// How long to sleep after [`Step::Sleep`], where no thread wakes the waiter: at first 20 µs, at last 2.5 ms,
    /// so that a change is seen after at most a tenth of the time already waited. Beside a thread that
    /// computes, it is that time: each look takes some ten microseconds from it.
    pub fn next_sleep(&mut self) -> Duration {
        const FIRST: Duration = Duration::from_micros(20);
        /// Sleeps of equal length.
        const EACH: u32 = 8;
        const DOUBLINGS: u32 = 7;

        let doublings = if self.lost.is_some() { self.sleeps + 2 } else { self.sleeps / EACH };
        // The count never wraps.
        self.sleeps = (self.sleeps + 1).min(EACH * (DOUBLINGS + 1));
        FIRST * (1 << doublings.min(DOUBLINGS))
    }

    /// Something has happened: the wait begins anew.
    pub fn reset(&mut self) {
        self.polls = 0;
        self.since = None;
        self.waited = Duration::ZERO;
        self.quiet_since = None;
        self.quiet = Duration::ZERO;
        self.away = Duration::ZERO;
        self.ever_taken = false;
        self.lost = self.limits.core_is_lost.then_some((Duration::ZERO, LOST));
        self.yields = 0;
        self.sleeps = 0;
    }

    /// The waiter has served something that came from another node, for which it is to stay awake: more may follow.
    #[inline]
    pub fn served(&mut self) {
        self.quiet_since = None;
    }

    /// Something has come from another node after the waiter slept for `slept`. What it waits for
    /// may be next, so that polling can pay again: for long if much comes.
    pub fn reset_after_sleep(&mut self, slept: Duration) {
        /// What comes within this time is one of many.
        const SOON: Duration = Duration::from_millis(1);

        if !self.limits.offer_time.is_zero() {
            let offer_time = if slept < SOON { OFFER_BUSY } else { OFFER_QUIET };
            self.limits.offer_time = offer_time;
            self.limits.offer_time_taken = offer_time;
        }
        self.polls = 0;
        self.since = None;
        self.quiet_since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scheduler as the test wants it: others run for `others` whenever the core is offered.
    #[derive(Debug)]
    struct Script {
        now: Instant,
        others: Duration,
    }

    impl Script {
        /// What a poll, a look at the clock and an offer that no thread takes need.
        const OFFER: Duration = Duration::from_nanos(600);

        fn new(others: Duration) -> Self {
            let now = Instant::now();
            Self { now, others }
        }
    }

    impl Scheduler for Script {
        fn now(&mut self) -> Instant {
            self.now
        }

        fn offer(&mut self) -> Duration {
            self.now += Self::OFFER + self.others;
            self.others
        }

        fn sleeps(&mut self) {}
    }

    /// With a core of its own, a waiter looks at least every microsecond, for any lateness up to
    /// seconds; it never sleeps, so what ends the wait costs the other PE no wake-up.
    #[test]
    fn a_waiter_with_a_core_looks_all_the_time() {
        let mut backoff = Backoff::on(Limits::NODE, Script::new(Duration::ZERO));
        while backoff.waited() < Duration::from_secs(1) {
            assert_eq!(backoff.step(), Step::Offered);
        }
        // A wait without an end gives the core a rest.
        let mut script = Script::new(Duration::ZERO);
        script.now += OFFER_NODE;
        let mut backoff = Backoff::on(Limits::NODE, script);
        assert_eq!(backoff.step(), Step::Offered);
        backoff.scheduler.now += OFFER_NODE;
        assert_eq!(backoff.step(), Step::Sleep);
    }

    /// A thread that computes on the waiter's core gets it: the waiter sleeps once it has been away
    /// for a time slice, and so takes less than a fiftieth of 5 ms.
    #[test]
    fn a_waiter_leaves_its_core_to_a_thread_that_computes() {
        let slice = Duration::from_millis(3);
        let mut backoff = Backoff::on(Limits::NODE, Script::new(slice));
        let begin = backoff.scheduler.now;
        assert_eq!(backoff.step(), Step::Offered);
        assert_eq!(backoff.away(), slice);
        let used = backoff.scheduler.now - begin - slice;
        assert!(used < Duration::from_millis(5) / 50, "{used:?}");
        for _ in 0..100 {
            assert_eq!(backoff.step(), Step::Sleep);
        }
        backoff.reset();
        assert_eq!(backoff.step(), Step::Offered);
    }

    /// A waiter that no thread wakes does not sleep for the rest of its wait because another thread took the
    /// core once: it looks whether the core is free again, each time after twice as long.
    #[test]
    fn a_waiter_gets_its_core_back() {
        let slice = Duration::from_millis(3);
        let mut backoff = Backoff::on(Limits::NODE, Script::new(slice));
        assert_eq!(backoff.step(), Step::Offered);
        for time in [LOST, LOST * 2, LOST * 4] {
            backoff.scheduler.now += time - Duration::from_millis(1);
            assert_eq!(backoff.step(), Step::Sleep);
            backoff.scheduler.now += Duration::from_millis(1) + slice;
            assert_eq!(backoff.step(), Step::Offered);
        }
        backoff.scheduler.others = Duration::ZERO;
        backoff.scheduler.now += LOST * 8 + slice;
        for _ in 0..100 {
            assert_eq!(backoff.step(), Step::Offered);
        }
    }

    /// Beside a thread that computes from the beginning, the core is offered at first after a while.
    #[test]
    fn a_waiter_beside_a_computing_thread_polls_and_sleeps() {
        let poll_time = Duration::from_micros(100);
        let limits = Limits::NODE.beside_computing(poll_time);
        let mut backoff = Backoff::on(limits, Script::new(Duration::ZERO));
        assert_eq!(backoff.step(), Step::Poll);
        backoff.scheduler.now += poll_time;
        assert_eq!(backoff.step(), Step::Sleep);
        backoff.scheduler.now += LOST;
        assert_eq!(backoff.step(), Step::Offered);
    }

    /// Two waiters on one core: each gives it to the other after each poll, and none sleeps.
    #[test]
    fn waiters_on_one_core_yield_to_each_other() {
        let mut backoff = Backoff::on(Limits::NODE, Script::new(Duration::from_micros(2)));
        let begin = backoff.scheduler.now;
        for _ in 0..1000 {
            assert_eq!(backoff.step(), Step::Offered);
        }
        assert!(backoff.scheduler.now - begin >= 1000 * Duration::from_micros(2));
    }

    /// Steps until the first sleep, with their number.
    fn steps(backoff: &mut Backoff) -> Vec<(Step, usize)> {
        let mut seen: Vec<(Step, usize)> = Vec::new();
        loop {
            let step = backoff.step();
            match seen.last_mut() {
                Some((last, n)) if *last == step => *n += 1,
                _ => seen.push((step, 1)),
            }
            if step == Step::Sleep {
                return seen;
            }
        }
    }

    #[test]
    fn phases_by_number() {
        let mut backoff = Backoff::new(Limits::node_shared(7));
        assert_eq!(steps(&mut backoff), [(Step::Yielded, 7), (Step::Sleep, 1)]);
        assert_eq!(backoff.step(), Step::Sleep);
        backoff.reset();
        assert_eq!(backoff.step(), Step::Yielded);
        let oversubscribed = Limits::internode(20, 4, true);
        assert_eq!(steps(&mut Backoff::new(oversubscribed)), [(Step::Poll, 20), (Step::Yielded, 4), (Step::Sleep, 1)]);
    }

    /// A waiter that gives up its core knows how long it has waited, long before it sleeps.
    #[test]
    fn yields_take_time() {
        let mut backoff = Backoff::on(Limits::node_shared(256), Script::new(Duration::ZERO));
        for _ in 0..YIELDS_PER_LOOK {
            assert_eq!(backoff.step(), Step::Yielded);
        }
        let slices = Duration::from_millis(60);
        backoff.scheduler.now += slices;
        assert_eq!(backoff.step(), Step::Yielded);
        assert_eq!(backoff.waited(), slices);
    }

    #[test]
    fn phases_by_the_clock() {
        let begin = Instant::now();
        let seen = steps(&mut Backoff::new(Limits::internode(2000, 0, false)));
        assert!(begin.elapsed() >= OFFER_FIRST);
        let polls = seen[0];
        assert!(polls.0 == Step::Poll && polls.1 >= 500);
        assert!(seen.iter().any(|(step, _)| *step == Step::Offered));

        let poll_time = Duration::from_micros(500);
        let begin = Instant::now();
        let mut backoff = Backoff::new(Limits::completion(poll_time));
        while backoff.step() == Step::Poll {}
        assert!(begin.elapsed() >= poll_time);
    }

    #[test]
    fn what_is_served_keeps_a_waiter_awake() {
        let mut backoff = Backoff::on(Limits::internode(0, 0, false), Script::new(Duration::ZERO));
        while backoff.waited() < 10 * OFFER_FIRST {
            assert_ne!(backoff.step(), Step::Sleep);
            backoff.served();
        }
        let served = backoff.waited();
        while backoff.step() != Step::Sleep {}
        assert!(backoff.waited() - served >= OFFER_FIRST);
    }

    #[test]
    fn a_message_after_a_sleep_makes_polling_pay() {
        let mut backoff = Backoff::new(Limits::internode(10, 0, false));
        steps(&mut backoff);
        backoff.reset_after_sleep(Duration::from_secs(1));
        let begin = Instant::now();
        steps(&mut backoff);
        let elapsed = begin.elapsed();
        assert!(elapsed >= OFFER_QUIET, "{elapsed:?}");
    }
}

//! When a thread that waits polls, offers its core to other threads, and sleeps.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use crate::yield_core;

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
/// | phase | ends | [node](Limits::node) | [internode](Limits::internode) | [completion](Limits::completion) | [variable](Limits::VARIABLE) |
/// |---|---|---|---|---|---|
/// | polls in a row | after `polls` | `SHMEM_SPIN`, or 2,000; 20 if PEs outnumber cores | as node, at most 500 | – | as node |
/// | polls, with a look at the clock at every `stride`th | after `poll_time` | – | – | `Config::spin` (50 µs) | – |
/// | polls, with an offer of the core at every `stride`th | after `offer_time` | – | 3 ms at first; 20 ms, or 300 µs if little comes, after a sleep | 2 ms; 100 µs if another thread took the core | – |
/// | the core is given up between polls | after `yields` | 0; 4 to 64 if PEs outnumber cores | as node | – | 256 |
/// | sleeps | when woken | a futex | a futex | a futex, 2 ms | 20 µs, doubling every 8 sleeps to 2.5 ms |
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
    yields: 0,
};

/// How long a waiter for other nodes offers its core before the first sleep, and from one sleep to
/// the next where much comes and where little does.
const OFFER_FIRST: Duration = Duration::from_millis(3);
const OFFER_BUSY: Duration = Duration::from_millis(20);
const OFFER_QUIET: Duration = Duration::from_micros(300);

impl Limits {
    /// For what PEs of the same node do. The waiter's polls are [`Spins`].
    pub const fn node(yields: u32) -> Limits {
        Limits { yields, ..NO_CLOCK }
    }

    /// For what PEs of other nodes do, where each poll lets the fabric progress. `spins`: polls of
    /// a waiter for PEs of its node. Where PEs outnumber cores the waiter offers its core only by
    /// `yields`, and sleeps soon.
    pub fn internode(spins: u32, yields: u32, oversubscribed: bool) -> Limits {
        const POLLS: u32 = 500;
        const STRIDE: u32 = 32;
        let offer_time = if oversubscribed {
            Duration::ZERO
        } else {
            OFFER_FIRST
        };
        Limits {
            polls: spins.min(POLLS),
            stride: STRIDE,
            stride_taken: 1,
            poll_time: Duration::ZERO,
            offer_time,
            offer_time_taken: offer_time,
            yields,
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
            yields: 0,
        }
    }

    /// For variables whose change no PE announces.
    pub const VARIABLE: Limits = Limits {
        yields: 256,
        ..NO_CLOCK
    };

    fn has_clock(&self) -> bool {
        !(self.poll_time.is_zero() && self.offer_time.is_zero())
    }
}

/// What a waiter does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Poll again.
    Poll,
    /// Poll again; the core was offered to other threads.
    Offered,
    /// Look again; the core was given up to a thread that the waiter may wait for.
    Yielded,
    /// Sleep.
    Sleep,
}

/// A wait since something happened last.
#[derive(Debug)]
pub struct Backoff {
    limits: Limits,
    polls: u32,
    /// The first look at the clock.
    since: Option<Instant>,
    /// Another thread took the core when it was offered last, and ever.
    taken: bool,
    ever_taken: bool,
    yields: u32,
    sleeps: u32,
}

impl Backoff {
    /// A wait that begins.
    #[inline]
    pub fn new(limits: Limits) -> Backoff {
        Backoff {
            limits,
            polls: 0,
            since: None,
            taken: false,
            ever_taken: false,
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
            let stride = if self.taken {
                limits.stride_taken
            } else {
                limits.stride
            };
            if !self.polls.is_multiple_of(stride) {
                return Step::Poll;
            }
            let now = Instant::now();
            let waited = now - *self.since.get_or_insert(now);
            let offer_time = if self.ever_taken {
                limits.offer_time_taken
            } else {
                limits.offer_time
            };
            if waited < limits.poll_time {
                return Step::Poll;
            }
            if waited < limits.poll_time + offer_time {
                self.taken = yield_core();
                self.ever_taken |= self.taken;
                return Step::Offered;
            }
        }
        if self.yields < limits.yields {
            self.yields += 1;
            std::thread::yield_now();
            return Step::Yielded;
        }
        Step::Sleep
    }

    /// Sleeps for a moment after [`Step::Sleep`], where no thread wakes the waiter: at first 20 µs,
    /// at last 2.5 ms, so that a change is seen after at most a tenth of the time already waited.
    pub fn sleep(&mut self) {
        const FIRST: Duration = Duration::from_micros(20);
        /// Sleeps of equal length.
        const EACH: u32 = 8;
        const DOUBLINGS: u32 = 7;

        let doublings = (self.sleeps / EACH).min(DOUBLINGS);
        std::thread::sleep(FIRST * (1 << doublings));
        // The count never wraps.
        self.sleeps = (self.sleeps + 1).min(EACH * (DOUBLINGS + 1));
    }

    /// Something has happened: the wait begins anew.
    pub fn reset(&mut self) {
        *self = Backoff::new(self.limits);
    }

    /// Something has come from another node after the waiter slept for `slept`. What it waits for
    /// may be next, so that polling can pay again: for long if much comes.
    pub fn reset_after_sleep(&mut self, slept: Duration) {
        /// What comes within this time is one of many.
        const SOON: Duration = Duration::from_millis(1);

        if !self.limits.offer_time.is_zero() {
            let offer_time = if slept < SOON {
                OFFER_BUSY
            } else {
                OFFER_QUIET
            };
            self.limits.offer_time = offer_time;
            self.limits.offer_time_taken = offer_time;
        }
        self.polls = 0;
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let mut backoff = Backoff::new(Limits::node(7));
        assert_eq!(steps(&mut backoff), [(Step::Yielded, 7), (Step::Sleep, 1)]);
        assert_eq!(backoff.step(), Step::Sleep);
        backoff.reset();
        assert_eq!(backoff.step(), Step::Yielded);
        let oversubscribed = Limits::internode(20, 4, true);
        assert_eq!(
            steps(&mut Backoff::new(oversubscribed)),
            [(Step::Poll, 20), (Step::Yielded, 4), (Step::Sleep, 1)]
        );
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

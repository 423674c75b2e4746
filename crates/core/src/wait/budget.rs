//! How long a waiter polls beside a thread that computes on its core.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time that waiters may poll while another thread computes on their core, before they sleep.
///
/// A poll takes from the neighbour, and a wake-up takes ten times as long as a cache line. So polls pay
/// where waits are short, and a wait shows afterwards whether it was: one that ended during its polls earns
/// further ones, one that did not has used them up. What a program of long waits polls is [`EARNED`] of its time.
#[derive(Debug)]
pub(super) struct PollBudget {
    /// Nanoseconds.
    left: AtomicU64,
    /// When time was earned last, in milliseconds; 0: never.
    since: AtomicU64,
}

/// The longest polls of a wait: a wait that takes longer is hardly longer by a wake-up.
const LONGEST: u64 = 250_000;
/// Polls that take less are part of the spins.
const SHORTEST: u64 = 20_000;
/// The most that can be left, so that a program whose waits become long notices it soon.
const MOST: u64 = 1_000_000;
/// Nanoseconds that a millisecond earns: a two-hundredth.
const EARNED: u64 = 5_000;

impl PollBudget {
    pub(super) const fn new() -> Self {
        Self { left: AtomicU64::new(LONGEST), since: AtomicU64::new(0) }
    }

    /// For how long a wait that begins at `now` milliseconds may poll; [`ended`](Self::ended) follows.
    pub(super) fn take(&self, now: u64) -> Duration {
        let since = match self.since.swap(now, Ordering::Relaxed) {
            0 => now,
            since => since,
        };
        let earned = now.saturating_sub(since) * EARNED;
        let left = (self.left.load(Ordering::Relaxed) + earned).min(MOST);
        let taken = if left < SHORTEST { 0 } else { left.min(LONGEST) };
        self.left.store(left - taken, Ordering::Relaxed);
        Duration::from_nanos(taken)
    }

    /// A wait that was to poll for `taken` has ended after `waited`.
    pub(super) fn ended(&self, taken: Duration, waited: Duration) {
        if waited < taken {
            let earned = (taken + waited / 2).as_nanos() as u64;
            let left = self.left.load(Ordering::Relaxed) + earned;
            self.left.store(left.min(MOST), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits of `waited` each, one every `period` milliseconds: the share of the time in which they poll.
    fn polled(budget: &PollBudget, waited: Duration, period: u64) -> f64 {
        const WAITS: u64 = 1000;

        let mut polled = Duration::ZERO;
        for i in 1..=WAITS {
            let taken = budget.take(i * period);
            polled += taken.min(waited);
            budget.ended(taken, waited);
        }
        polled.as_secs_f64() * 1e3 / (WAITS * period) as f64
    }

    #[test]
    fn short_waits_poll_until_they_end() {
        let budget = PollBudget::new();
        for i in 0..1000 {
            let taken = budget.take(i);
            let waited = Duration::from_micros(i % 200);
            assert!(taken > waited);
            budget.ended(taken, waited);
        }
    }

    #[test]
    fn long_waits_poll_for_a_hundredth_of_the_time() {
        for period in [5, 20, 1000] {
            let budget = PollBudget::new();
            short_then(&budget);
            let share = polled(&budget, Duration::from_millis(period), period);
            assert!(share > 0.0 && share < 0.01, "{share} of {period} ms");
        }
    }

    /// Leaves as much as short waits can earn.
    fn short_then(budget: &PollBudget) {
        for _ in 0..100 {
            let taken = budget.take(0);
            budget.ended(taken, taken / 2);
        }
        assert_eq!(budget.left.load(Ordering::Relaxed), MOST);
    }
}

//! Whether helpers get a core when they are asked for. A thread that computes on their cores shows when one has taken a
//! chunk and the kernel lets it wait: the thread that needs the chunk waits with it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::wait::record::now_ms;

/// How long helpers have not been asked for since one kept a thread waiting.
#[derive(Debug)]
pub(super) struct Starvation {
    /// Milliseconds of [`now_ms`] until which they are not asked for; 0: they are.
    lost_until: AtomicU64,
    /// For how many milliseconds they are not, the next time.
    rest: AtomicU32,
}

/// The shortest time without helpers, in milliseconds.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 1_000;

impl Starvation {
    pub(super) const fn new() -> Self {
        Self { lost_until: AtomicU64::new(0), rest: AtomicU32::new(SHORTEST) }
    }

    /// Whether helpers are not to be asked for now.
    #[inline]
    pub(super) fn is_starved(&self) -> bool {
        let until = self.lost_until.load(Ordering::Relaxed);
        if until == 0 {
            return false;
        }
        if now_ms() < until {
            return true;
        }
        self.lost_until.store(0, Ordering::Relaxed);
        false
    }

    /// A thread has waited for a helper's chunk.
    pub(super) fn waited(&self, time: Duration) {
        self.judge(time, now_ms);
    }

    fn judge(&self, time: Duration, now: impl Fn() -> u64) {
        /// Many times what a chunk takes: its helper did not run.
        const LONG: Duration = Duration::from_micros(300);

        let rest = self.rest.load(Ordering::Relaxed);
        if time < LONG {
            let shorter = (rest / 2).max(SHORTEST);
            self.rest.store(shorter, Ordering::Relaxed);
            return;
        }
        self.lost_until.store(now() + u64::from(rest), Ordering::Relaxed);
        let longer = (rest * 4).min(LONGEST);
        self.rest.store(longer, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_without_a_core_are_asked_for_less_and_less() {
        let starvation = Starvation::new();
        let (long, short) = (Duration::from_millis(3), Duration::from_micros(20));
        let rests: Vec<u64> = (0..6)
            .map(|_| {
                starvation.judge(long, || 100);
                starvation.lost_until.load(Ordering::Relaxed) - 100
            })
            .collect();
        assert_eq!(rests, [2, 8, 32, 128, 512, 1_000]);
        for _ in 0..10 {
            starvation.judge(short, || 100);
        }
        starvation.judge(long, || 5_000);
        assert_eq!(starvation.lost_until.load(Ordering::Relaxed), 5_002);
    }
}

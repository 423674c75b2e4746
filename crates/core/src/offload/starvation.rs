//! Whether helpers get a core when they are asked for. A thread that computes on their cores shows when none takes a
//! chunk, or when one has taken a chunk and the kernel lets it wait: the thread that needs the chunk waits with it.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::wait::record::now_ms;

/// How long helpers have not been asked for since one kept a thread waiting.
#[derive(Debug)]
pub(super) struct Starvation {
    /// Milliseconds of [`now_ms`] until which they are not asked for; 0: they are.
    lost_until: AtomicU64,
    /// For how many milliseconds they are not, the next time.
    rest: AtomicU32,
    /// Microseconds of [`now_us`] at which they were asked for, if none has taken a chunk since; else 0.
    asked: AtomicU64,
    /// For how many microseconds they are not asked for again then.
    silence: AtomicU64,
}

/// The shortest time without helpers, in milliseconds.
const SHORTEST: u32 = 2;
const LONGEST: u32 = 1_000;

impl Starvation {
    pub(super) const fn new() -> Self {
        Self {
            lost_until: AtomicU64::new(0),
            rest: AtomicU32::new(SHORTEST),
            asked: AtomicU64::new(0),
            silence: AtomicU64::new(0),
        }
    }

    /// A helper has taken a chunk.
    #[inline]
    pub(super) fn answered(&self) {
        if self.asked.load(Ordering::Relaxed) != 0 {
            self.asked.store(0, Ordering::Relaxed);
        }
    }

    /// Whether to ask for helpers now, which is noted: one that none has answered is repeated less and less.
    pub(super) fn may_ask(&self) -> bool {
        self.may_ask_at(now_us())
    }

    fn may_ask_at(&self, now: u64) -> bool {
        /// Until then, one that sleeps may be about to come.
        const WAKE_UP: u64 = 500;
        /// What waking helpers in vain costs is a thousandth of this.
        const LONGEST: u64 = 16_000;

        let asked = self.asked.load(Ordering::Relaxed);
        // Another thread may have asked since this one has read the clock.
        let since = now.saturating_sub(asked);
        let silence = match asked {
            0 => WAKE_UP,
            _ if since < WAKE_UP => return true,
            _ => self.silence.load(Ordering::Relaxed),
        };
        if asked != 0 && since < silence {
            return false;
        }
        self.asked.store(now, Ordering::Relaxed);
        self.silence.store((2 * silence).min(LONGEST), Ordering::Relaxed);
        true
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

/// Microseconds since the first call, and one.
fn now_us() -> u64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    BEGIN.elapsed().as_micros() as u64 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_that_do_not_come_are_asked_for_less_and_less() {
        let starvation = Starvation::new();
        let asks: Vec<u64> = (1..=100_000).filter(|now| starvation.may_ask_at(*now)).collect();
        // Each is repeated until a helper that sleeps would have come.
        let begins = asks.chunk_by(|a, b| a + 1 == *b).map(|asks| (asks[0], asks.len()));
        let begins: Vec<_> = begins.take(6).collect();
        assert_eq!(begins, [(1, 500), (1_001, 500), (3_001, 500), (7_001, 500), (15_001, 500), (31_001, 500)]);
        let last = starvation.asked.load(Ordering::Relaxed);
        assert!(!starvation.may_ask_at(last + 15_000));
        starvation.answered();
        assert!(starvation.may_ask_at(last + 15_000));
    }

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

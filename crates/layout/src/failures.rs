//! Which PEs of a resilient job have failed, in the order in which they did.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most failures of a job; the next one ends it.
pub const MAX_FAILURES: usize = 16_384 - 16;

/// Which PEs of a resilient job have failed. The launcher alone writes it, but for the first word; where that does not
/// know of such jobs, PEs do. An entry never changes, so a count stands for a set of failures, which is the same for
/// all who read it.
#[repr(C, align(64))]
pub struct Failures {
    /// 1 once the job goes on without PEs that fail (`shmemx_resilient`).
    pub resilient: AtomicU32,
    /// So many of the failures are of PEs whose numbers other processes have taken since.
    pub replaced: AtomicU32,
    /// How many there have been.
    pub count: AtomicU64,
    /// The numbers of the PEs, plus one.
    entries: [AtomicU32; MAX_FAILURES],
}

impl Failures {
    /// Whether the job goes on without PEs that fail.
    pub fn is_resilient(&self) -> bool {
        self.resilient.load(Ordering::Acquire) != 0
    }

    /// The same, and there is room for one more failure.
    pub fn can_go_on(&self) -> bool {
        self.is_resilient() && self.count() < MAX_FAILURES
    }

    /// How many PEs have failed.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire) as usize
    }

    /// So many of them are of PEs whose numbers other processes have taken since.
    pub fn replaced(&self) -> usize {
        self.replaced.load(Ordering::Acquire) as usize
    }

    /// PE `pe` has failed. For the launcher, once the PE's process has ended.
    pub fn record(&self, pe: usize) {
        let count = self.count.load(Ordering::Relaxed);
        self.entries[count as usize].store(pe as u32 + 1, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
    }

    /// The same for PEs that notice each other's end, several of them perhaps; whether this one has recorded it, and
    /// None if there is no room. PEs are not replaced then.
    ///
    /// Who writes an entry may be killed before it is counted. So each that finds one beyond the count counts it, and
    /// no PE waits for another.
    pub fn record_once(&self, pe: usize) -> Option<bool> {
        loop {
            let count = self.count();
            if self.between(0, count).any(|failed| failed == pe) {
                return Some(false);
            }
            let entry = self.entries.get(count)?;
            // What this acquires, the count releases.
            let written = entry.compare_exchange(0, pe as u32 + 1, Ordering::AcqRel, Ordering::Acquire);
            let (count, next) = (count as u64, count as u64 + 1);
            let _ = self.count.compare_exchange(count, next, Ordering::AcqRel, Ordering::Relaxed);
            if written.is_ok() {
                return Some(true);
            }
        }
    }

    /// The PEs of failures `from` to `to`, a [count](Self::count) that was read.
    pub fn between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let entries = self.entries.get(from..to).unwrap_or_default();
        entries.iter().map(|entry| (entry.load(Ordering::Relaxed) as usize).wrapping_sub(1))
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} failures", self.count())
    }
}

const _: () = {
    assert!(size_of::<Failures>() == 65_536);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_stands_for_a_set() {
        // SAFETY: zero bytes are valid.
        let failures = unsafe { Box::<Failures>::new_zeroed().assume_init() };
        assert!(!failures.can_go_on());
        failures.resilient.store(1, Ordering::Release);
        for pe in [5, 2, 7] {
            assert!(failures.can_go_on());
            failures.record(pe);
        }
        assert_eq!(failures.count(), 3);
        assert_eq!(failures.between(1, 3).collect::<Vec<_>>(), [2, 7]);
        (3..MAX_FAILURES).for_each(|pe| failures.record(pe));
        assert!(!failures.can_go_on());
        assert_eq!(failures.between(MAX_FAILURES - 1, MAX_FAILURES).next(), Some(MAX_FAILURES - 1));
        assert_eq!((failures.record_once(7), failures.record_once(MAX_FAILURES)), (Some(false), None));
    }

    /// Each failure is there once, and one thread has recorded it, also if another one is gone that has written an
    /// entry and not counted it.
    #[test]
    fn many_record_a_failure_once() {
        const PES: usize = 50;

        // SAFETY: zero bytes are valid.
        let failures = unsafe { Box::<Failures>::new_zeroed().assume_init() };
        failures.entries[0].store(PES as u32 + 1, Ordering::Relaxed);
        let recorded = AtomicU32::new(0);
        std::thread::scope(|threads| {
            for first in 0..4 {
                let (failures, recorded) = (&failures, &recorded);
                threads.spawn(move || {
                    for i in 0..PES {
                        let is_first = failures.record_once((first * 13 + i) % PES);
                        recorded.fetch_add(u32::from(is_first.unwrap()), Ordering::Relaxed);
                        let count = failures.count();
                        assert!(failures.between(0, count).all(|pe| pe <= PES));
                    }
                });
            }
        });
        let mut all: Vec<_> = failures.between(0, failures.count()).collect();
        assert_eq!((recorded.into_inner(), all[0]), (PES as u32, PES));
        all.sort_unstable();
        assert_eq!(all, (0..=PES).collect::<Vec<_>>());
    }
}

//! Which PEs of a resilient job have failed, in the order in which they did.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Most failures of a job; the next one ends it.
pub const MAX_FAILURES: usize = 16_384 - 16;

/// Which PEs of a resilient job have failed. The launcher alone writes it, but for the first word. An entry never
/// changes, so a count stands for a set of failures, which is the same for all who read it.
#[repr(C, align(64))]
pub struct Failures {
    /// 1 once the job goes on without PEs that fail (`shmemx_resilient`).
    pub resilient: AtomicU32,
    /// So many of the failures are of PEs whose numbers other processes have taken since.
    pub replaced: AtomicU32,
    /// How many there have been.
    pub count: AtomicU64,
    pes: [AtomicU32; MAX_FAILURES],
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
        self.pes[count as usize].store(pe as u32, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
    }

    /// The PEs of failures `from` to `to`, a [count](Self::count) that was read.
    pub fn between(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        let pes = self.pes.get(from..to).unwrap_or_default();
        pes.iter().map(|pe| pe.load(Ordering::Relaxed) as usize)
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
    }
}

//! Which vector instructions this machine has, and running work compiled for them.

use std::sync::atomic::{AtomicU8, Ordering};

#[cfg(target_arch = "x86_64")]
use super::vector::{__m256i, __m512i};
use super::vector::{Least, Vector};

/// Instruction sets that the element loops are compiled for, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What every machine of the architecture has (x86-64: SSE2).
    Baseline = 1,
    /// Vectors of 32 bytes.
    Avx2,
    /// Vectors of 64 bytes, with the instructions for all sizes of integers (F, BW, DQ, VL).
    Avx512,
}

/// The level, or zero before it was looked for.
static FOUND: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// The best one of this machine, found out once.
    #[inline]
    pub fn here() -> Self {
        #[cfg(test)]
        if let Some(level) = forced::LEVEL.get() {
            return level;
        }
        match FOUND.load(Ordering::Relaxed) {
            0 => Self::detect(),
            1 => Self::Baseline,
            2 => Self::Avx2,
            _ => Self::Avx512,
        }
    }

    #[cold]
    fn detect() -> Self {
        let mut level = Self::Baseline;
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            level = Self::Avx2;
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                level = Self::Avx512;
            }
        }
        FOUND.store(level as u8, Ordering::Relaxed);
        level
    }
}

/// Something to be compiled once for each level.
pub(super) trait Work {
    /// What it returns.
    type Output;

    /// Does the work with registers `V`. Must be inlined, and so must all that it calls: only
    /// then is it compiled with the instructions for them.
    fn run<V: Vector>(self) -> Self::Output;
}

/// Does the work at the best level of this machine.
#[inline]
pub(super) fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    match Level::here() {
        // SAFETY: the machine has the instructions.
        Level::Avx512 => return unsafe { avx512(work) },
        // SAFETY: as above.
        Level::Avx2 => return unsafe { avx2(work) },
        Level::Baseline => {}
    }
    baseline(work)
}

#[inline(never)]
fn baseline<W: Work>(work: W) -> W::Output {
    work.run::<Least>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<W: Work>(work: W) -> W::Output {
    work.run::<__m256i>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512<W: Work>(work: W) -> W::Output {
    work.run::<__m512i>()
}

/// Levels set by tests, for their thread.
#[cfg(test)]
pub(super) mod forced {
    use std::cell::Cell;

    use super::Level;

    thread_local! {
        pub(super) static LEVEL: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Runs `test` once at each level that this machine has.
    pub(crate) fn each(test: impl Fn(Level)) {
        let best = Level::here();
        for level in [Level::Baseline, Level::Avx2, Level::Avx512] {
            if level <= best {
                LEVEL.set(Some(level));
                test(level);
                LEVEL.set(None);
            }
        }
    }
}

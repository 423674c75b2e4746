//! Which vector instructions this machine has, and running work compiled for them.

use std::sync::atomic::{AtomicU8, Ordering};

use ferroshmem_platform::Features;

use super::registers::Register128;
#[cfg(target_arch = "x86_64")]
use super::registers::{__m256i, __m512i};
use super::vector::Vector;

/// Instruction sets that the element loops are compiled for, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// What every machine of the architecture has (x86-64: SSE2, aarch64: NEON).
    Baseline = 1,
    /// Vectors of 32 bytes.
    Avx2,
    /// Vectors of 64 bytes, with the instructions for all sizes of integers (F, BW, DQ, VL).
    Avx512,
    /// Vectors as long as the processor has them, more than 16 bytes (SVE).
    Scalable,
}

/// The level of this machine, or zero before it is detected.
static DETECTED: AtomicU8 = AtomicU8::new(0);

impl Level {
    /// The best level of this machine, detected once.
    #[inline]
    pub fn detected() -> Self {
        #[cfg(test)]
        if let Some(level) = forced::LEVEL.get() {
            return level;
        }
        match DETECTED.load(Ordering::Relaxed) {
            0 => Self::detect(),
            1 => Self::Baseline,
            2 => Self::Avx2,
            3 => Self::Avx512,
            _ => Self::Scalable,
        }
    }

    #[cold]
    fn detect() -> Self {
        let level = Self::of_this_processor();
        DETECTED.store(level as u8, Ordering::Relaxed);
        level
    }

    fn of_this_processor() -> Self {
        let features = Features::here();
        if features.has(Features::SCALABLE_VECTORS) {
            Self::Scalable
        } else if features.has(Features::VECTORS_64) {
            Self::Avx512
        } else if features.has(Features::VECTORS_32) {
            Self::Avx2
        } else {
            Self::Baseline
        }
    }
}

/// A loop that is compiled once for each level.
pub(super) trait ElementLoop {
    /// What the loop returns.
    type Output;

    /// Runs the loop with registers `V`. This method and all that it calls must be inlined: only
    /// then are they compiled with the instructions of the level.
    fn run<V: Vector>(self) -> Self::Output;

    /// Runs the loop where vectors have a length that only the processor knows: as plain loops over elements, which
    /// the compiler makes vectors of.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "aarch64"), expect(dead_code, reason = "SVE is Arm's"))]
    fn run_scalable(self) -> Self::Output
    where
        Self: Sized,
    {
        self.run::<Register128>()
    }
}

/// Runs the loop that is compiled for the best level of this machine.
#[inline]
pub(super) fn dispatch<W: ElementLoop>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    match Level::detected() {
        // SAFETY: `Level::detect` found these instructions on this machine.
        Level::Avx512 => return unsafe { avx512(work) },
        // SAFETY: `Level::detect` found these instructions on this machine.
        Level::Avx2 => return unsafe { avx2(work) },
        _ => {}
    }
    #[cfg(target_arch = "aarch64")]
    if Level::detected() == Level::Scalable {
        // SAFETY: `Level::detect` found these instructions on this machine.
        return unsafe { scalable(work) };
    }
    baseline(work)
}

#[inline(never)]
fn baseline<W: ElementLoop>(work: W) -> W::Output {
    work.run::<Register128>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<W: ElementLoop>(work: W) -> W::Output {
    work.run::<__m256i>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn avx512<W: ElementLoop>(work: W) -> W::Output {
    work.run::<__m512i>()
}

#[cfg(target_arch = "aarch64")]
#[target_feature(enable = "sve")]
fn scalable<W: ElementLoop>(work: W) -> W::Output {
    work.run_scalable()
}

/// Levels that tests set for their thread.
#[cfg(test)]
pub(crate) mod forced {
    use std::cell::Cell;

    use super::Level;

    thread_local! {
        pub(super) static LEVEL: Cell<Option<Level>> = const { Cell::new(None) };
    }

    /// Runs `test` once at each level that this machine has.
    pub(crate) fn each(test: impl Fn(Level)) {
        let best = Level::detected();
        let others: &[Level] = if best == Level::Scalable { &[best] } else { &[Level::Avx2, Level::Avx512] };
        for &level in [Level::Baseline].iter().chain(others) {
            if level <= best {
                LEVEL.set(Some(level));
                test(level);
                LEVEL.set(None);
            }
        }
    }
}

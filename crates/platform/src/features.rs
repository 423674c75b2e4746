//! Which instructions the processor has, of those that the library chooses between at run time.
//!
//! In a virtual machine the hypervisor answers each `cpuid`, which takes up to 20 microseconds there, and to find these
//! features takes fourteen of them. So a node's processes learn them from the one that creates the job's memory. On Arm
//! the kernel tells each process, and an emulated PE has another processor than `oshrun`.

use std::sync::atomic::{AtomicU32, Ordering};

/// Features of the processor, as a word that other processes of the machine can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features(pub(crate) u32);

/// Those of this machine; 0 if they are not known.
static HERE: AtomicU32 = AtomicU32::new(0);

impl Features {
    /// Vectors of 32 bytes (AVX2).
    pub const VECTORS_32: u32 = 1 << 0;
    /// Vectors of 64 bytes, with the instructions for all sizes of integers (AVX-512 F, BW, DQ, VL).
    pub const VECTORS_64: u32 = 1 << 1;
    /// The processor's own loop moves whole lines (ERMS, since Ivy Bridge and Zen 3).
    pub const FAST_STRING: u32 = 1 << 2;
    /// `umonitor` and `umwait` (Intel).
    pub const UMWAIT: u32 = 1 << 3;
    /// `monitorx` and `mwaitx` (AMD).
    pub const MWAITX: u32 = 1 << 4;
    /// Vectors of more than 16 bytes, whose length the processor sets (SVE). With 16, the vectors that all have (NEON)
    /// do as much.
    pub const SCALABLE_VECTORS: u32 = 1 << 5;
    /// That they are known.
    const KNOWN: u32 = 1 << 31;

    /// Those of this machine, which are found out once.
    #[inline]
    pub fn here() -> Self {
        // Each thread that finds them unknown finds out the same. No OnceLock: ThreadSanitizer does not see what
        // the precompiled standard library orders.
        match HERE.load(Ordering::Relaxed) {
            0 => Self::find(),
            word => Self(word),
        }
    }

    /// Those that a process of this machine has found, as [`Self::word`].
    pub fn learn(word: u32) {
        if cfg!(target_arch = "x86_64") {
            HERE.store(word, Ordering::Relaxed);
        }
    }

    /// A word of them.
    pub const fn word(self) -> u32 {
        self.0
    }

    /// Whether it has a feature.
    #[inline]
    pub const fn has(self, feature: u32) -> bool {
        self.0 & feature != 0
    }

    #[cold]
    fn find() -> Self {
        let this = Self(Self::KNOWN | ask());
        HERE.store(this.0, Ordering::Relaxed);
        this
    }
}

#[cfg(target_arch = "x86_64")]
fn ask() -> u32 {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    let leaf_7 = if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ecx } else { 0 };
    let extended_1 = if __cpuid(0x8000_0000).eax >= 0x8000_0001 { __cpuid(0x8000_0001).ecx } else { 0 };
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    let features = [
        (Features::VECTORS_32, is_x86_feature_detected!("avx2")),
        (Features::VECTORS_64, has_avx512 && is_x86_feature_detected!("avx2")),
        (Features::FAST_STRING, is_x86_feature_detected!("ermsb")),
        (Features::UMWAIT, leaf_7 & 1 << 5 != 0),
        (Features::MWAITX, extended_1 & 1 << 29 != 0),
    ];
    features.into_iter().filter(|(_, has)| *has).map(|(feature, _)| feature).sum()
}

#[cfg(target_arch = "aarch64")]
fn ask() -> u32 {
    /// Bytes of a vector.
    #[target_feature(enable = "sve")]
    fn vector_length() -> usize {
        let length;
        // SAFETY: part of SVE, which the caller has found.
        unsafe { std::arch::asm!("rdvl {}, #1", out(reg) length, options(pure, nomem, nostack, preserves_flags)) };
        length
    }

    // SAFETY: the processor has SVE where its length is asked for.
    let is_longer = std::arch::is_aarch64_feature_detected!("sve") && unsafe { vector_length() } > 16;
    if is_longer { Features::SCALABLE_VECTORS } else { 0 }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn ask() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_another_process_says_the_same() {
        let found = Features::find();
        assert_ne!(found.word(), 0, "known, whatever the processor has");
        Features::learn(found.word());
        assert_eq!(Features::here(), found);
        assert!(found.has(Features::VECTORS_32) || !found.has(Features::VECTORS_64));
    }
}

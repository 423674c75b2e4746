//! Hints to the processor about cache lines.

/// Gives the hint that an instruction of each processor is, on the line at an address. In assembler, as `_mm_prefetch`
/// only reads a line that is to be written where the compiler does not know that all processors have this instruction;
/// those without it do nothing.
macro_rules! hint {
    ($at:ident, x86_64: $x86_64:literal, aarch64: $aarch64:literal) => {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: changes no memory and no register, and faults at no address.
        unsafe {
            std::arch::asm!($x86_64, in(reg) $at.addr(), options(nomem, nostack, preserves_flags));
        }
        #[cfg(target_arch = "aarch64")]
        // SAFETY: as above.
        unsafe {
            std::arch::asm!($aarch64, in(reg) $at.addr(), options(nomem, nostack, preserves_flags));
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let _ = $at;
    };
}

/// Takes the cache line at an address to this core, to be written soon. The address need not be valid.
#[inline(always)]
pub fn prefetch_for_write(at: *const u8) {
    hint!(at, x86_64: "prefetchw [{}]", aarch64: "prfm pstl1keep, [{}]");
}

/// Fetches the cache line at an address, to be read soon. The address need not be valid.
#[inline(always)]
pub fn prefetch_for_read(at: *const u8) {
    hint!(at, x86_64: "prefetcht0 [{}]", aarch64: "prfm pldl1keep, [{}]");
}

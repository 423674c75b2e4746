//! Hints to the processor about cache lines.

/// Takes the cache line at an address to this core, to be written soon. The address need not be valid.
#[inline(always)]
pub fn prefetch_for_write(at: *const u8) {
    // In assembler, as `_mm_prefetch` only reads the line where the compiler does not know that all processors have this
    // instruction; those without it do nothing.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes no memory and no register, and faults at no address.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

/// Fetches the cache line at an address, to be read soon. The address need not be valid.
#[inline(always)]
pub fn prefetch_for_read(at: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: changes no memory and no register, and faults at no address.
    unsafe {
        std::arch::asm!("prefetcht0 [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{}]", in(reg) at, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = at;
}

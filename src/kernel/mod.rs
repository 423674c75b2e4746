//! The element loops of collectives: folding sources, copying.

mod fold;
pub mod ops;

pub use ops::Reduce;

/// Copies `bytes` bytes between places that may be the same or overlap.
///
/// # Safety
/// Both places are valid for `bytes` bytes.
#[inline]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise; memmove allows overlap.
    unsafe { std::ptr::copy(source, dest, bytes) };
}

/// Copies `bytes` bytes to a place that is not read again soon.
///
/// # Safety
/// Both places are valid for `bytes` bytes and do not overlap.
#[inline]
pub unsafe fn stream(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(source, dest, bytes) };
}

/// Whether writing `total_bytes` bytes past the caches is faster than through them.
pub fn streaming_pays(total_bytes: usize) -> bool {
    total_bytes >= 64 << 20
}

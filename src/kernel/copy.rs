//! Copying bytes, through the caches or past them.

use super::level::{self, Work};
use super::vector::{Vector, stream_fence};

/// Bytes of a cache line, which streaming stores fill whole.
const LINE: usize = 64;

/// Copies `bytes` bytes between places that may be the same or overlap.
///
/// # Safety
/// Both places are valid for `bytes` bytes.
#[inline]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    if !std::ptr::eq(dest, source) {
        // SAFETY: the caller's promise; memmove allows overlap.
        unsafe { std::ptr::copy(source, dest, bytes) };
    }
}

/// Copies `bytes` bytes past the caches, to a place that is not read again soon, and orders
/// the stores before all later ones.
///
/// # Safety
/// Both places are valid for `bytes` bytes and do not overlap.
pub unsafe fn stream(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { stream_unordered(dest, source, bytes) };
    stream_fence();
}

/// As [`stream`], but another processor may see later stores earlier, until [`stream_fence`].
///
/// # Safety
/// As for `stream`.
pub unsafe fn stream_unordered(dest: *mut u8, source: *const u8, bytes: usize) {
    // The lines at the ends, which are not filled whole, go through the caches.
    let head = dest.align_offset(LINE).min(bytes);
    let whole = (bytes - head) / LINE * LINE;
    // SAFETY: all three parts are within the places.
    unsafe {
        dest.copy_from_nonoverlapping(source, head);
        level::run(Lines {
            dest: dest.add(head),
            source: source.add(head),
            bytes: whole,
        });
        let done = head + whole;
        dest.add(done)
            .copy_from_nonoverlapping(source.add(done), bytes - done);
    }
}

/// Whole lines to be streamed. `dest` is aligned to a line.
struct Lines {
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
}

impl Work for Lines {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for at in (0..self.bytes).step_by(size_of::<V>()) {
            // SAFETY: within the lines, which are a multiple of any register.
            unsafe {
                let value = self.source.add(at).cast::<V>().read_unaligned();
                V::stream(self.dest.add(at).cast(), value);
            }
        }
    }
}

/// Whether writing `total_bytes` bytes past the caches is faster than through them.
pub fn streaming_pays(total_bytes: usize) -> bool {
    total_bytes >= 64 << 20
}

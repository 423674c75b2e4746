//! Copying bytes, through the caches or past them.

use std::sync::atomic::{AtomicUsize, Ordering};

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
pub(super) unsafe fn stream_unordered(dest: *mut u8, source: *const u8, bytes: usize) {
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

/// Whether a collective that reads and writes `total_bytes` bytes, in all PEs together, should
/// write past the caches: what it wrote would be pushed out of them before it is read again,
/// and each line that is stored to is read from memory first.
pub fn streaming_pays(total_bytes: usize) -> bool {
    static CACHE: AtomicUsize = AtomicUsize::new(0);
    let mut cache = CACHE.load(Ordering::Relaxed);
    if cache == 0 {
        cache = last_level_cache();
        CACHE.store(cache, Ordering::Relaxed);
    }
    total_bytes >= cache
}

/// Bytes of the cache that all cores share, as far as it is ours.
#[cold]
fn last_level_cache() -> usize {
    /// If the machine does not say.
    const USUAL: usize = 32 << 20;
    /// More for each core than any processor has: the cache is that of a larger machine, of
    /// which this one is a virtual part, and strangers use the rest. (On such a part of two
    /// cores, with 480 MiB by name, streaming breaks even at 64 MiB.)
    const MOST_PER_CORE: usize = 32 << 20;

    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match usize::try_from(size) {
        Ok(size @ 1..) => size.min(MOST_PER_CORE * cores),
        _ => USUAL,
    }
}

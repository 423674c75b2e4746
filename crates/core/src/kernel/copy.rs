//! Copying bytes, through the caches or past them (with non-temporal stores).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::level::{self, ElementLoop};
use super::vector::{Vector, stream_fence};

/// Bytes of a cache line. Non-temporal stores are fast where they fill a whole line.
const LINE: usize = 64;

/// Copies `bytes` bytes between arrays that may be the same or overlap.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    if !std::ptr::eq(dest, source) {
        // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes`
        // bytes; this copy allows overlap.
        unsafe { std::ptr::copy(source, dest, bytes) };
    }
}

/// Copies `bytes` bytes past the caches, to an array that is not read again soon, and orders
/// the stores before all later ones.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes. They do not overlap.
pub unsafe fn stream(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises what `stream_unordered` asks for: the arrays are valid for
    // `bytes` bytes and do not overlap.
    unsafe { stream_unordered(dest, source, bytes) };
    stream_fence();
}

/// As [`stream`], but other processors may see later stores earlier, until [`stream_fence`].
///
/// # Safety
/// As for `stream`.
pub(super) unsafe fn stream_unordered(dest: *mut u8, source: *const u8, bytes: usize) {
    // The first and the last bytes, which do not fill a line, go through the caches.
    let head = dest.align_offset(LINE).min(bytes);
    let whole = (bytes - head) / LINE * LINE;
    // SAFETY: the caller promises that the arrays are valid for `bytes` bytes and do not
    // overlap; `head`, `whole` and the rest add up to `bytes`.
    unsafe {
        dest.copy_from_nonoverlapping(source, head);
        level::dispatch(Lines {
            dest: dest.add(head),
            source: source.add(head),
            bytes: whole,
        });
        let done = head + whole;
        dest.add(done)
            .copy_from_nonoverlapping(source.add(done), bytes - done);
    }
}

/// A copy of whole lines with non-temporal stores. `dest` is aligned to a line.
struct Lines {
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
}

impl ElementLoop for Lines {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for at in (0..self.bytes).step_by(size_of::<V>()) {
            // SAFETY: `bytes` is a multiple of a line, a line is a multiple of a register, and
            // `stream_unordered` made the lines of valid and separate arrays.
            unsafe {
                let value = self.source.add(at).cast::<V>().read_unaligned();
                V::stream(self.dest.add(at).cast(), value);
            }
        }
    }
}

/// Whether a collective whose PEs together read and write `total_bytes` bytes should write past
/// the caches. With so many bytes, the caches drop a written line before it is read again, and
/// an ordinary store reads its line from memory first.
pub fn streaming_pays(total_bytes: usize) -> bool {
    static CACHE: AtomicUsize = AtomicUsize::new(0);
    let mut cache = CACHE.load(Ordering::Relaxed);
    if cache == 0 {
        cache = last_level_cache();
        CACHE.store(cache, Ordering::Relaxed);
    }
    total_bytes >= cache
}

/// Bytes of the last-level cache that this machine can count on.
#[cold]
fn last_level_cache() -> usize {
    /// If the machine does not report a size.
    const USUAL: usize = 32 << 20;
    /// More bytes for each core than any processor has. A larger cache belongs to a host of which
    /// this virtual machine is a part, and other virtual machines use the rest. (On such a
    /// machine of 2 cores that reports 480 MiB, streaming breaks even at 64 MiB.)
    const MOST_PER_CORE: usize = 32 << 20;

    // SAFETY: sysconf has no preconditions.
    let size = unsafe { libc::sysconf(libc::_SC_LEVEL3_CACHE_SIZE) };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match usize::try_from(size) {
        Ok(size @ 1..) => size.min(MOST_PER_CORE * cores),
        _ => USUAL,
    }
}

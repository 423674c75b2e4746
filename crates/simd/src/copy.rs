//! Copying bytes: through the caches, by the C library or by the processor's own loop, or past them (with
//! non-temporal stores).

use std::sync::atomic::{AtomicUsize, Ordering};

use ferroshmem_platform::{Features, LastLevelCache, huge_pages};

use super::level::{self, ElementLoop};
use super::method::{self, Choice, Method};
use super::vector::{Vector, prefetch, stream_fence};

/// Bytes of a cache line. Non-temporal stores are fast where they fill a whole line.
const LINE: usize = 64;

/// From how many bytes on a copy goes past the caches. Never before the library is initialised.
static THRESHOLD: AtomicUsize = AtomicUsize::new(usize::MAX);
/// From how many bytes on a copy is not left to the C library: at most [`THRESHOLD`], so that others compare once.
static LARGE: AtomicUsize = AtomicUsize::new(usize::MAX);
/// From how many bytes on the program's copies show which method is the fastest: [`TRIED_FROM`], or never.
static TRIED: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Fewer bytes fit a second-level cache, and come out of it faster than they go past it.
const TRIED_FROM: usize = 2 << 20;
/// The choices for copies of [`TRIED_FROM`] bytes and more, of twice as many, and so on.
static CHOICES: [Choice; 8] = [const { Choice::new() }; 8];
/// From how many bytes on `rep movsb` copies faster than the C library, where the processor moves whole lines
/// by it: on a Zen 5, 1 to 8 MiB in 0.8 to 0.87 of the time, at any alignment; 512 KiB in as much.
const STRING_FROM: usize = 1 << 20;

/// Copies `bytes` bytes between arrays that may be the same or overlap, by this thread alone. A PE that sees what this
/// PE stores later sees the bytes.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
    unsafe { copy_part(dest, source, bytes, bytes) }
}

/// Copies as [`copy`] does, as a part of the `whole` bytes that a PE copies in a call.
///
/// # Safety
/// As [`copy`].
#[inline]
pub unsafe fn copy_part(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes; the copy
    // of the standard library allows overlap.
    unsafe {
        if whole >= LARGE.load(Ordering::Relaxed) {
            copy_large(dest, source, bytes, whole);
        } else {
            std::ptr::copy(source, dest, bytes);
        }
    }
}

/// Copies a part of many bytes.
///
/// # Safety
/// As [`copy`].
#[cold]
#[inline(never)]
unsafe fn copy_large(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes; what
    // overlaps is copied by the function that allows it.
    unsafe {
        if dest.addr().abs_diff(source.addr()) < bytes {
            std::ptr::copy(source, dest, bytes);
        } else {
            copy_by(count_part(bytes, whole), dest, source, bytes);
        }
    }
    if past_caches(whole) {
        count_copy(dest, source, bytes);
    }
}

/// Copies a part of a large copy.
///
/// # Safety
/// As [`copy`], and the arrays do not overlap.
pub(super) unsafe fn copy_by(method: Method, dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises valid arrays that do not overlap.
    unsafe {
        match method {
            Method::Through => copy_string(dest, source, bytes),
            Method::Past => stream(dest, source, bytes),
            Method::PastByPages => {
                stream_lines::<4>(dest, source, bytes);
                stream_fence();
            }
        }
    }
}

/// The choice for copies of `whole` bytes, if their method is found out by trials.
fn choice(whole: usize) -> Option<&'static Choice> {
    let number = (whole / TRIED_FROM).checked_ilog2()? as usize;
    (whole >= TRIED.load(Ordering::Relaxed)).then(|| &CHOICES[number.min(CHOICES.len() - 1)])
}

/// The method that the size alone decides.
fn usual(whole: usize) -> Method {
    if past_caches(whole) { Method::Past } else { Method::Through }
}

/// Counts a copy of `bytes` bytes, a part of `whole`, that begins; its method.
fn count_part(bytes: usize, whole: usize) -> Method {
    let usual = usual(whole);
    choice(whole).map_or(usual, |choice| choice.count(bytes, whole, usual, method::now))
}

/// Counts a copy past the caches, after which its memory may move to huge pages.
fn count_copy(dest: *mut u8, source: *const u8, bytes: usize) {
    for at in [dest.addr(), source.addr()] {
        huge_pages::count_copy(at, bytes);
    }
}

/// Copies a chunk of `whole` bytes that several threads copy together, and for which [`count_chunked`] is called once.
/// A PE that sees what this thread stores later sees the bytes.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes. They do not overlap.
pub unsafe fn copy_chunk(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes,
    // and that they do not overlap.
    unsafe {
        if whole >= LARGE.load(Ordering::Relaxed) {
            let method = choice(whole).map_or_else(|| usual(whole), Choice::method);
            copy_by(method, dest, source, bytes);
        } else {
            dest.copy_from_nonoverlapping(source, bytes);
        }
    }
}

/// Counts `bytes` bytes, a part of `whole`, that [`copy_chunk`] copies or has copied.
pub fn count_chunked(dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    count_part(bytes, whole);
    if past_caches(whole) {
        count_copy(dest, source, bytes);
    }
}

/// Copies `bytes` bytes by the processor's own loop, which takes whole lines without reading them first.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes. They do not overlap.
#[cfg(target_arch = "x86_64")]
unsafe fn copy_string(mut dest: *mut u8, mut source: *const u8, bytes: usize) {
    // Some processors are slow where only the source is aligned.
    let head = dest.align_offset(LINE).min(bytes);
    // SAFETY: the caller promises that the arrays are valid for `bytes` bytes and do not overlap; `head` is at most as
    // many. The calling convention keeps the direction flag clear.
    unsafe {
        dest.copy_from_nonoverlapping(source, head);
        dest = dest.add(head);
        source = source.add(head);
        std::arch::asm!(
            "rep movsb",
            inout("rcx") bytes - head => _,
            inout("rdi") dest => _,
            inout("rsi") source => _,
            options(nostack, preserves_flags),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_string(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that the arrays are valid for `bytes` bytes and do not overlap.
    unsafe { dest.copy_from_nonoverlapping(source, bytes) };
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
    // SAFETY: the caller promises valid arrays that do not overlap.
    unsafe { stream_lines::<1>(dest, source, bytes) };
}

/// As [`stream_unordered`], `PAGES` pages at a time.
///
/// # Safety
/// As for `stream`.
unsafe fn stream_lines<const PAGES: usize>(dest: *mut u8, source: *const u8, bytes: usize) {
    // The first and the last bytes, which do not fill a line, go through the caches.
    let head = dest.align_offset(LINE).min(bytes);
    let whole = (bytes - head) / LINE * LINE;
    // SAFETY: the caller promises that the arrays are valid for `bytes` bytes and do not
    // overlap; `head`, `whole` and the rest add up to `bytes`.
    unsafe {
        dest.copy_from_nonoverlapping(source, head);
        level::dispatch(Lines::<PAGES> { dest: dest.add(head), source: source.add(head), bytes: whole });
        let done = head + whole;
        dest.add(done).copy_from_nonoverlapping(source.add(done), bytes - done);
    }
}

/// A copy of whole lines with non-temporal stores, `PAGES` pages at a time. `dest` is aligned to a line.
struct Lines<const PAGES: usize> {
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
}

impl<const PAGES: usize> ElementLoop for Lines<PAGES> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        const PAGE: usize = 4096;
        // How far ahead the source is fetched: the processor's own prefetcher ends with the page. On a Zen 5, 4 KiB
        // take 0.91 to 0.96 of the time of 2 KiB. Of several pages, the processor follows each.
        let ahead = if PAGES == 1 { PAGE } else { PAGE / 8 };
        let line = |at: usize| {
            prefetch(self.source.wrapping_add(at + ahead));
            for at in (at..at + LINE).step_by(size_of::<V>()) {
                // SAFETY: `bytes` is a multiple of a line, a line is a multiple of a register, and
                // `stream_lines` made the lines of valid and separate arrays.
                unsafe {
                    let value = self.source.add(at).cast::<V>().read_unaligned();
                    V::stream(self.dest.add(at).cast(), value);
                }
            }
        };
        let together = if PAGES == 1 { 0 } else { self.bytes / (PAGES * PAGE) * (PAGES * PAGE) };
        for start in (0..together).step_by(PAGES * PAGE) {
            for at in (start..start + PAGE).step_by(LINE) {
                for page in 0..PAGES {
                    line(at + page * PAGE);
                }
            }
        }
        for at in (together..self.bytes).step_by(LINE) {
            line(at);
        }
    }
}

/// Whether a copy of `bytes` bytes should go past the caches. They would drop its lines before those are
/// read again, and an ordinary store reads its line from memory first.
#[inline]
pub fn past_caches(bytes: usize) -> bool {
    bytes >= THRESHOLD.load(Ordering::Relaxed)
}

/// Sets from how many bytes on copies go past the caches. Their size alone decides until [`try_methods`].
pub fn set_non_temporal_threshold(bytes: usize) {
    /// Fewer are copied faster through the caches, whatever the variable says.
    const FEWEST: usize = 4 * LINE;

    let threshold = bytes.max(FEWEST);
    THRESHOLD.store(threshold, Ordering::Relaxed);
    let from = if Features::here().has(Features::FAST_STRING) { STRING_FROM } else { usize::MAX };
    LARGE.store(threshold.min(from), Ordering::Relaxed);
    TRIED.store(usize::MAX, Ordering::Relaxed);
}

/// Chooses the method of copies of 2 MiB and more by how long the program takes with each, from now on.
pub fn try_methods() {
    // An emulator takes a minute for a large copy by the loop without optimisation, which wins no trial.
    if cfg!(any(target_arch = "x86_64", all(target_arch = "aarch64", not(debug_assertions)))) {
        TRIED.store(TRIED_FROM, Ordering::Relaxed);
        LARGE.fetch_min(TRIED_FROM, Ordering::Relaxed);
    }
}

/// From how many bytes on a copy is not left to the C library.
pub fn large_from() -> usize {
    LARGE.load(Ordering::Relaxed)
}

/// From how many bytes on copies should go past the caches, where `pes` PEs share the node. It reads what the
/// kernel says of the caches: once for a node, by the process that creates the job's memory.
pub fn non_temporal_threshold_for(pes: usize) -> usize {
    /// If the machine does not describe its caches.
    const USUAL: usize = 32 << 20;

    if cfg!(not(target_arch = "x86_64")) {
        // Nothing is known of the others' processors: trials decide.
        return usize::MAX;
    }
    // Of the PEs that share the cache, half are assumed to copy at the same time.
    let share = LastLevelCache::here().map_or(USUAL, |cache| cache.share(pes.div_ceil(2)));
    // On a Zen 3 with 32 MiB, through or past the caches takes as long at 10 to 12 MiB, by one of two PEs or by both: 8
    // MiB take 145 us through them and 205 past them, 16 MiB 530 and 470.
    share / 16 * 5
}

/// As [`non_temporal_threshold_for`], where `measured` bytes, if they are given, were found to pay for a PE that is
/// alone on the node.
pub fn non_temporal_threshold_of(pes: usize, measured: Option<u64>) -> u64 {
    let usual = non_temporal_threshold_for(pes) as u64;
    match measured {
        None => usual,
        Some(u64::MAX) => u64::MAX,
        // More PEs have a smaller part of the cache.
        Some(alone) => {
            let part = usual as f64 / non_temporal_threshold_for(1) as f64;
            (alone as f64 * part) as u64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_threshold_shrinks_with_the_part_of_the_cache() {
        let usual = |pes| non_temporal_threshold_for(pes) as u64;
        for pes in [1, 2, 8, 64] {
            assert_eq!(non_temporal_threshold_of(pes, None), usual(pes));
            assert_eq!(non_temporal_threshold_of(pes, Some(u64::MAX)), u64::MAX);
            let half = non_temporal_threshold_of(pes, Some(usual(1) / 2));
            assert!(half.abs_diff(usual(pes) / 2) <= 1, "{pes}");
        }
    }
}

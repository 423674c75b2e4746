//! A transfer: work on memory, cut into chunks that any thread of the process may do.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ferroshmem_platform::{prefetch_for_read, prefetch_for_write};
use ferroshmem_simd as simd;

use super::chunks::Chunks;
use super::watch;
use crate::wait::signals;
use ferroshmem_layout::SignalLine;

/// Bytes of a cache line: a chunk's destination begins with one, so that no two threads write the same.
pub(super) const LINE: usize = 64;

/// Bytes of a chunk of a large copy: it takes about ten microseconds, which a thread that waits for another's chunk
/// waits at most, and in which a thread comes back to the program.
pub(crate) const CHUNK: usize = 128 << 10;

/// How an array is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunking {
    bytes: usize,
    chunk: usize,
    /// By how much the first chunk is shorter than the others.
    skew: usize,
}

impl Chunking {
    /// `bytes` bytes at `dest`, for `threads` threads.
    pub(super) fn new(dest: usize, bytes: usize, threads: usize) -> Self {
        /// Shorter ones take no longer than what is done for a chunk.
        const SHORTEST: usize = 16 << 10;

        let fair = (bytes / (2 * threads.max(1))).max(SHORTEST.min(bytes / 2));
        let chunk = fair.clamp(LINE, CHUNK).next_multiple_of(LINE);
        Self { bytes, chunk, skew: dest % LINE }
    }

    /// `bytes` bytes at `dest` in chunks of `chunk` bytes, some lines.
    pub(super) fn of_chunks(dest: usize, bytes: usize, chunk: usize) -> Self {
        Self { bytes, chunk, skew: dest % LINE }
    }

    pub(super) fn count(&self) -> usize {
        (self.bytes + self.skew).div_ceil(self.chunk)
    }

    /// The bytes of a chunk.
    pub(super) fn range(&self, number: usize) -> Range<usize> {
        let start = (number * self.chunk).saturating_sub(self.skew);
        start..((number + 1) * self.chunk - self.skew).min(self.bytes)
    }
}

/// A copy that goes on when its call has returned.
#[derive(Debug, Clone, Copy)]
pub(super) struct QueuedCopy {
    dest: *mut u8,
    source: *const u8,
    shape: Shape,
}

/// What a slot says of a copy beside the two addresses. It is short: a slot has one line for all of it.
#[derive(Debug, Clone, Copy)]
struct Shape {
    bytes: usize,
    /// Bytes of a chunk.
    chunk: u32,
    /// Whether the source may be gone ([`watch`]).
    is_watched: bool,
    /// Whether the thread that finishes the last chunk updates a signal.
    is_signalled: bool,
}

/// The update of a signal, after the data.
#[derive(Debug, Clone, Copy)]
pub struct Signal {
    /// The signal.
    pub word: *mut u64,
    /// What is added, or written.
    pub value: u64,
    /// Whether it is added.
    pub adds: bool,
    /// Where threads sleep that wait for it.
    pub sleepers: &'static SignalLine,
}

impl Signal {
    fn update(&self) {
        // SAFETY: the caller of `put_signal_nbi` promises an aligned word, which has been found mapped.
        let word = unsafe { AtomicU64::from_ptr(self.word) };
        if self.adds {
            word.fetch_add(self.value, Ordering::SeqCst);
        } else {
            word.swap(self.value, Ordering::SeqCst);
        }
        signals::notify(self.sleepers);
    }
}

impl QueuedCopy {
    /// Copies `bytes` bytes, for `threads` threads.
    pub(super) fn new(dest: *mut u8, source: *const u8, bytes: usize, threads: usize) -> Self {
        let chunking = Chunking::new(dest.addr(), bytes, threads);
        let shape = Shape { bytes, chunk: chunking.chunk as u32, is_watched: false, is_signalled: false };
        Self { dest, source, shape }
    }

    /// The source may be gone.
    pub(super) fn watch(&mut self) {
        self.shape.is_watched = true;
    }

    pub(super) fn source(&self) -> *const u8 {
        self.source
    }

    pub(super) fn bytes(&self) -> usize {
        self.shape.bytes
    }

    /// Number of chunks.
    pub(super) fn count(&self) -> usize {
        self.chunking().count()
    }

    fn chunking(&self) -> Chunking {
        Chunking::of_chunks(self.dest.addr(), self.shape.bytes, self.shape.chunk as usize)
    }

    fn do_chunk(&self, number: usize) {
        let range = self.chunking().range(number);
        if self.shape.is_watched {
            let from = self.source.addr() + range.start;
            // SAFETY: `dest` is promised as below.
            unsafe { watch::read(self.dest.add(range.start), from, range.len()) };
            // A source that is gone is found when the put is completed.
            return;
        }
        // SAFETY: the caller of the non-blocking operation promises both arrays until it is complete, and a chunk is a
        // part of them; they do not overlap.
        unsafe {
            let (to, from) = (self.dest.add(range.start), self.source.add(range.start));
            simd::copy_chunk(to, from, range.len(), self.shape.bytes);
        }
    }
}

/// What a slot's chunks are.
enum What {
    Nothing,
    /// Each chunk is a call, in which other threads take part as long as the call lasts that offers it.
    Calls(*const (dyn Fn(usize) + Sync)),
    Copy(Shape),
}

/// Room for a transfer. It has cache lines of its own: a line that comes from another core takes as long as all else
/// that a thread does to offer a copy, so all that a copy without signal needs is in the first.
#[repr(C, align(128))]
pub(super) struct Slot {
    chunks: Chunks,
    /// Of a copy, dest and source. A thread also reads them before it takes a chunk, to fetch their lines meanwhile.
    dest: AtomicPtr<u8>,
    source: AtomicPtr<u8>,
    what: UnsafeCell<What>,
    /// In one slot alone, the counter of the events: a thread that polls it gets with the same line what the copy in
    /// this slot is.
    pub events: AtomicU32,
    is_used: AtomicBool,
    signal: UnsafeCell<Option<Signal>>,
}

const _: () = assert!(std::mem::offset_of!(Slot, signal) <= LINE);

// SAFETY: `what` and `signal` are written by the thread that has the slot, and read by others, as `Chunks` allows it.
unsafe impl Sync for Slot {}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.chunks).finish()
    }
}

impl Slot {
    pub(super) const fn empty() -> Self {
        Self {
            chunks: Chunks::none(),
            dest: AtomicPtr::new(std::ptr::null_mut()),
            source: AtomicPtr::new(std::ptr::null_mut()),
            what: UnsafeCell::new(What::Nothing),
            events: AtomicU32::new(0),
            is_used: AtomicBool::new(false),
            signal: UnsafeCell::new(None),
        }
    }

    /// Takes the slot, if it is free.
    pub(super) fn take(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed) && !self.is_used.swap(true, Ordering::Acquire)
    }

    /// Gives the slot back: all chunks are finished.
    pub(super) fn give_back(&self) {
        self.is_used.store(false, Ordering::Release);
    }

    /// Offers `count` calls of `work`.
    ///
    /// # Safety
    /// The calling thread has the slot. `work` stays until all chunks are finished.
    pub(super) unsafe fn offer_calls(&self, count: u32, work: &(dyn Fn(usize) + Sync)) {
        let work: *const (dyn Fn(usize) + Sync) = work;
        // SAFETY: only the lifetime differs, over which the caller promises to keep `work`.
        let work: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(work) };
        // SAFETY: the caller promises that it has the slot, so no chunk is taken or unfinished.
        unsafe { *self.what.get() = What::Calls(work) };
        self.chunks.offer(count);
    }

    /// Asks for the slot's first line, which another core has written.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch_for_write(std::ptr::from_ref(self).cast());
    }

    /// Offers a copy of `count` chunks, which `signal` follows.
    ///
    /// # Safety
    /// The calling thread has the slot. The arrays stay until all chunks are finished, and the signal's update.
    #[inline]
    pub(super) unsafe fn offer_copy(&self, copy: QueuedCopy, count: u32, signal: Option<Signal>) {
        let mut shape = copy.shape;
        shape.is_signalled = signal.is_some();
        self.dest.store(copy.dest, Ordering::Relaxed);
        self.source.store(copy.source.cast_mut(), Ordering::Relaxed);
        // SAFETY: the caller promises that it has the slot, so no chunk is taken or unfinished.
        unsafe {
            if shape.is_signalled {
                *self.signal.get() = signal;
            }
            *self.what.get() = What::Copy(shape);
        }
        self.chunks.offer(count);
    }

    /// Whether there is a chunk to take.
    #[inline]
    pub(super) fn remains(&self) -> bool {
        self.chunks.remain()
    }

    /// Takes a chunk and does it; whether there was one.
    #[inline]
    pub(super) fn help(&self) -> bool {
        match self.chunks.next() {
            None => return false,
            Some(0) => self.fetch_ends(),
            Some(_) => {}
        }
        let Some(number) = self.chunks.take() else {
            return false;
        };
        // SAFETY: this thread has taken a chunk that it finishes below.
        match unsafe { &*self.what.get() } {
            What::Nothing => {}
            // SAFETY: who offers calls keeps them until all chunks are finished.
            What::Calls(work) => unsafe { (**work)(number as usize) },
            What::Copy(shape) => {
                let copy = QueuedCopy {
                    dest: self.dest.load(Ordering::Relaxed),
                    source: self.source.load(Ordering::Relaxed),
                    shape: *shape,
                };
                copy.do_chunk(number as usize);
                let (count, is_signalled) = (self.chunks.count(), shape.is_signalled);
                // With a signal, there is one more step, so the copy stays until it is done.
                if self.chunks.finish() == count && is_signalled {
                    // SAFETY: the step below is not done, so no thread has the slot.
                    if let Some(signal) = unsafe { *self.signal.get() } {
                        signal.update();
                    }
                    self.chunks.finish();
                }
                return true;
            }
        }
        self.chunks.finish();
        true
    }

    /// Fetches the first lines of a copy, while a chunk of it is being taken: each comes from another core.
    #[inline]
    fn fetch_ends(&self) {
        prefetch_for_write(self.dest.load(Ordering::Relaxed));
        prefetch_for_read(self.source.load(Ordering::Relaxed));
    }

    /// How many steps are done.
    #[inline]
    pub(super) fn finished(&self) -> u32 {
        self.chunks.finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_an_array_once_and_begin_with_lines() {
        for dest in [0, 1, 63, 64, 4097] {
            for bytes in [1, 2, 63, 64, 65, 127, 4096, 100_000, 1 << 20, (5 << 20) + 13] {
                for threads in [1, 2, 7, 64] {
                    let chunking = Chunking::new(dest, bytes, threads);
                    let mut at = 0;
                    for number in 0..chunking.count() {
                        let range = chunking.range(number);
                        assert_eq!(range.start, at, "{dest} {bytes} {threads}");
                        assert!(range.len() <= CHUNK && !range.is_empty());
                        assert!(number == 0 || (dest + at) % LINE == 0);
                        at = range.end;
                    }
                    assert_eq!(at, bytes);
                }
            }
        }
    }
}

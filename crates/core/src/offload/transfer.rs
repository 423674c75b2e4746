//! A transfer: work on memory, cut into chunks that any thread of the process may do.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::chunks::Chunks;
use super::watch;
use crate::job::region::SignalLine;
use crate::kernel;
use crate::wait::signals;

/// Bytes of a cache line: a chunk's destination begins with one, so that no two threads write the same.
const LINE: usize = 64;

/// Bytes of a chunk of a large copy: it takes about ten microseconds, which a thread that waits for another's chunk
/// waits at most, and in which a thread comes back to the program.
pub(crate) const CHUNK: usize = 128 << 10;

/// How an array is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    bytes: usize,
    chunk: usize,
    /// By how much the first chunk is shorter than the others.
    skew: usize,
}

impl Cut {
    /// `bytes` bytes at `dest`, for `threads` threads.
    pub(super) fn new(dest: usize, bytes: usize, threads: usize) -> Self {
        /// Shorter ones take no longer than what is done for a chunk.
        const SHORTEST: usize = 16 << 10;

        let fair = (bytes / (2 * threads.max(1))).max(SHORTEST.min(bytes / 2));
        let chunk = fair.clamp(LINE, CHUNK).next_multiple_of(LINE);
        Self {
            bytes,
            chunk,
            skew: dest % LINE,
        }
    }

    /// `bytes` bytes at `dest` in chunks of `chunk` bytes, some lines.
    pub(super) fn of_chunks(dest: usize, bytes: usize, chunk: usize) -> Self {
        Self {
            bytes,
            chunk,
            skew: dest % LINE,
        }
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
    pub dest: *mut u8,
    pub source: *const u8,
    pub cut: Cut,
    /// What the thread does that finishes the last chunk.
    pub signal: Option<Signal>,
    /// Whether the source may be gone ([`watch`]).
    pub is_watched: bool,
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
    fn do_chunk(&self, number: usize) {
        let range = self.cut.range(number);
        if self.is_watched {
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
            kernel::copy_chunk(to, from, range.len(), self.cut.bytes);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.cut.bytes
    }

    /// How many times `Chunks::finish` is called until all is done.
    pub(super) fn steps(&self) -> u32 {
        self.cut.count() as u32 + u32::from(self.signal.is_some())
    }
}

/// What a slot's chunks are.
enum What {
    Nothing,
    /// Each chunk is a call, in which other threads take part as long as the call lasts that offers it.
    Calls(*const (dyn Fn(usize) + Sync)),
    Copy(QueuedCopy),
}

/// Room for a transfer. It has cache lines of its own.
#[repr(align(128))]
pub(super) struct Slot {
    is_used: AtomicBool,
    chunks: Chunks,
    what: UnsafeCell<What>,
}

// SAFETY: `what` is written by the thread that has the slot, and read by others, as `Chunks` allows it.
unsafe impl Sync for Slot {}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Slot").field(&self.chunks).finish()
    }
}

impl Slot {
    pub(super) const fn empty() -> Self {
        Self {
            is_used: AtomicBool::new(false),
            chunks: Chunks::none(),
            what: UnsafeCell::new(What::Nothing),
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

    /// Offers a copy.
    ///
    /// # Safety
    /// The calling thread has the slot. The arrays stay until all chunks are finished.
    pub(super) unsafe fn offer_copy(&self, copy: QueuedCopy) {
        // SAFETY: the caller promises that it has the slot, so no chunk is taken or unfinished.
        unsafe { *self.what.get() = What::Copy(copy) };
        self.chunks.offer(copy.cut.count() as u32);
    }

    /// Whether there is a chunk to take.
    #[inline]
    pub(super) fn remains(&self) -> bool {
        self.chunks.remain()
    }

    /// Takes a chunk and does it; whether there was one.
    #[inline]
    pub(super) fn help(&self) -> bool {
        let Some(number) = self.chunks.take() else {
            return false;
        };
        // SAFETY: this thread has taken a chunk that it finishes below.
        match unsafe { &*self.what.get() } {
            What::Nothing => {}
            // SAFETY: who offers calls keeps them until all chunks are finished.
            What::Calls(work) => unsafe { (**work)(number as usize) },
            What::Copy(copy) => {
                copy.do_chunk(number as usize);
                let (count, signal) = (copy.cut.count() as u32, copy.signal);
                // With a signal, there is one more step, so the copy stays until it is done.
                if self.chunks.finish() == count
                    && let Some(signal) = signal
                {
                    signal.update();
                    self.chunks.finish();
                }
                return true;
            }
        }
        self.chunks.finish();
        true
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
            for bytes in [
                1,
                2,
                63,
                64,
                65,
                127,
                4096,
                100_000,
                1 << 20,
                (5 << 20) + 13,
            ] {
                for threads in [1, 2, 7, 64] {
                    let cut = Cut::new(dest, bytes, threads);
                    let mut at = 0;
                    for number in 0..cut.count() {
                        let range = cut.range(number);
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

//! The chunks of a transfer, which threads take one by one.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the hand-over needs of a word. The real one is an `AtomicU64`; the model checker brings its own.
pub trait Counter {
    /// Reads with acquire order.
    fn load(&self) -> u64;
    /// Writes with release order.
    fn store(&self, value: u64);
    /// Replaces `old` by `new`, acquire and release, if it is still there; whether it was.
    fn replace(&self, old: u64, new: u64) -> bool;
    /// Adds, acquire and release; the value before.
    fn add(&self, value: u64) -> u64;
}

impl Counter for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: u64) {
        self.store(value, Ordering::Release);
    }

    #[inline]
    fn replace(&self, old: u64, new: u64) -> bool {
        self.compare_exchange_weak(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn add(&self, value: u64) -> u64 {
        self.fetch_add(value, Ordering::AcqRel)
    }
}

/// Which chunks of a transfer are taken, and how many are finished.
///
/// The thread that offers them has written what they are before [`offer`](Self::offer), and writes it anew only after
/// [`finished`](Self::finished) is all of them. A thread reads it between [`take`](Self::take) and
/// [`finish`](Self::finish) alone: `take` has acquired what was written before `offer`, by way of all takes in between,
/// which are read-modify-writes; and until its `finish` not all chunks are finished. So a thread that
/// comes late, and takes a chunk of a later transfer than it has seen, does that one's.
#[derive(Debug)]
pub struct Chunks<C = AtomicU64> {
    /// Number of chunks in the upper half, number of the next one in the lower.
    taken: C,
    finished: C,
}

impl Chunks {
    /// None.
    pub const fn none() -> Self {
        Self::over(AtomicU64::new(0), AtomicU64::new(0))
    }
}

impl<C: Counter> Chunks<C> {
    /// Over two words that are 0.
    pub const fn over(taken: C, finished: C) -> Self {
        Self { taken, finished }
    }

    /// Lets threads take `count` chunks.
    pub fn offer(&self, count: u32) {
        self.finished.store(0);
        self.taken.store(u64::from(count) << 32);
    }

    /// How many chunks there are. Called by a thread that has one.
    #[inline]
    pub fn count(&self) -> u32 {
        (self.taken.load() >> 32) as u32
    }

    /// Whether there is a chunk to take.
    #[inline]
    pub fn remain(&self) -> bool {
        self.next().is_some()
    }

    /// The number of the chunk that is taken next.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        let taken = self.taken.load();
        let next = taken as u32;
        (next < (taken >> 32) as u32).then_some(next)
    }

    /// Takes a chunk; its number.
    #[inline]
    pub fn take(&self) -> Option<u32> {
        loop {
            let taken = self.taken.load();
            let next = taken as u32;
            if next >= (taken >> 32) as u32 {
                return None;
            }
            if self.taken.replace(taken, taken + 1) {
                return Some(next);
            }
        }
    }

    /// The calling thread has finished a chunk that it took: how many are finished.
    #[inline]
    pub fn finish(&self) -> u32 {
        self.finished.add(1) as u32 + 1
    }

    /// How many are finished: all that was written for them is visible.
    #[inline]
    pub fn finished(&self) -> u32 {
        self.finished.load() as u32
    }
}

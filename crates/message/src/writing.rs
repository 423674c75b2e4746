//! Which threads write to inboxes, in a resilient job, so that an owner can tell what will not be finished.

use std::sync::atomic::{Ordering, fence};

use ferroshmem_core::team::health;
use ferroshmem_layout::PeBlock;

/// A thread of this PE writes to an inbox. In a resilient job, the PE's block says so: what it has reserved there is
/// still to be finished.
pub(super) struct Writing(Option<&'static PeBlock>);

impl Writing {
    /// From before the thread reserves room.
    #[inline(always)]
    pub(super) fn begin(block: &'static PeBlock) -> Self {
        let block = health::is_on().then_some(block);
        if let Some(block) = block {
            Self::count(block, 1);
            // Who sees the room reserved sees the count.
            fence(Ordering::Release);
        }
        Self(block)
    }

    /// Adds to the writers of this PE. Another thread than the only one costs an atomic addition.
    #[cold]
    #[inline(never)]
    fn count(block: &PeBlock, change: i32) {
        let (writers, change) = (&block.writers, change.cast_unsigned());
        if block.is_threaded() {
            writers.fetch_add(change, Ordering::Release);
        } else {
            writers.store(writers.load(Ordering::Relaxed).wrapping_add(change), Ordering::Release);
        }
    }
}

impl Drop for Writing {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(block) = self.0 {
            Self::count(block, -1);
        }
    }
}

/// What this PE's inbox has reserved and not finished.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// Where that begins, which is read next.
    pub(super) position: u64,
    /// The tail when it was found.
    pub(super) tail: u64,
    /// So many PEs of the node have since finished what they had begun, or have failed.
    pub(super) finished: usize,
}

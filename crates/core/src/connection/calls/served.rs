//! How far a PE is with the calls of kernels.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics};

use crate::wait::{Word, flag};

/// What a PE has run of the messages to its group.
#[derive(Debug, Default)]
pub struct ServedCalls {
    /// Messages taken.
    pub(super) taken: AtomicU32,
    /// The last one was taken.
    pub(super) ended: AtomicBool,
    /// A thread runs kernels, or has run all that come.
    pub(super) is_served: AtomicBool,
}

/// Counts a PE that leaves; after how many messages, of those `sent`.
pub fn leave_after<A: Atomics>(left: &A::U32, sent: &impl Word) -> u32 {
    left.fetch_add(1, Ordering::Relaxed);
    // With the fence in `have_left`: this sees the message, or its caller sees that a PE has left.
    A::fence(Ordering::SeqCst);
    flag::value(sent)
}

/// Whether PEs have left. Called after a message was sent.
pub fn have_left<A: Atomics>(left: &A::U32) -> bool {
    A::fence(Ordering::SeqCst);
    left.load(Ordering::Relaxed) > 0
}

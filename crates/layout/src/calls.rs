//! The queue of messages by which one group of a connection calls kernels on the other.

use std::sync::atomic::{AtomicU32, AtomicU64};

/// The queue of messages by which one group of a connection calls kernels on the other
/// (`connection/calls/mod.rs`).
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct CallLines {
    /// Where the first message is.
    pub first: AtomicU64,
    /// PEs of the other group that take no more messages.
    pub left: AtomicU32,
    /// Messages sent: a futex word.
    pub sent: AtomicU32,
    /// See [`Finished`].
    pub finished: Finished,
}

/// Messages whose kernels all PEs have run: a futex word alone on its cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Finished {
    /// The word.
    pub count: AtomicU32,
}

//! How far a PE is with the calls of kernels.

use std::sync::atomic::{AtomicBool, AtomicU32};

/// What a PE has run of the messages to its group.
#[derive(Debug, Default)]
pub struct ServedCalls {
    /// Messages taken.
    pub(super) taken: AtomicU32,
    /// The last one was taken.
    pub(super) ended: AtomicBool,
    /// A thread runs kernels.
    pub(super) is_served: AtomicBool,
}

//! Which non-blocking collectives workers execute while their PE computes.
//!
//! A collective belongs to the thread that has the lock of its team's queue, so workers and threads of the program
//! execute it in turn, and each sees what the one before has written. What is here tells workers that there is one: its
//! begin counts it before it posts the event, so no worker sleeps beside it for want of the event (`events`).

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// From how many bytes on that a PE moves, workers execute a collective.
static FROM: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Collectives that workers are to execute.
static UNDER_WAY: AtomicU32 = AtomicU32::new(0);

/// Sets the threshold: a usual one, unless that of copies is less, or no copy has it.
pub(super) fn configure(has_workers: bool, copies: Option<usize>) {
    /// It takes several times what waking a worker takes.
    const USUAL: usize = 32 << 10;

    let from = match copies {
        _ if !has_workers => usize::MAX,
        Some(usize::MAX) => usize::MAX,
        from => from.map_or(USUAL, |from| from.min(USUAL)),
    };
    FROM.store(from, Ordering::Relaxed);
}

/// Whether workers may execute a collective that moves so many bytes.
#[inline]
pub(super) fn is_large(bytes: usize) -> bool {
    bytes >= FROM.load(Ordering::Relaxed)
}

/// One begins that workers are to execute.
pub(super) fn begin() {
    UNDER_WAY.fetch_add(1, Ordering::Relaxed);
}

/// One has ended that workers were to execute.
pub fn end() {
    UNDER_WAY.fetch_sub(1, Ordering::Relaxed);
}

/// Whether workers are to execute any.
#[inline]
pub(super) fn are_under_way() -> bool {
    UNDER_WAY.load(Ordering::Relaxed) != 0
}

//! What waits of all routines attend to: messages and streams need their PE, also while it waits for something else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Requests that are under way; with [`STREAMS`], 0: waits attend to nothing.
pub static PENDING: AtomicU32 = AtomicU32::new(0);
/// Streams whose items this PE may have to hand on to others.
pub static STREAMS: AtomicU32 = AtomicU32::new(0);

static PROGRESS: OnceLock<fn()> = OnceLock::new();

/// Sets what makes progress; only the first call counts.
pub fn set(progress: fn()) {
    // A second initialisation brings the same.
    let _ = PROGRESS.set(progress);
}

/// Makes progress, if a request is under way or a stream open; whether one is.
#[inline]
pub fn attend() -> bool {
    let is_pending = PENDING.load(Ordering::Relaxed) != 0 || STREAMS.load(Ordering::Relaxed) != 0;
    if is_pending && let Some(progress) = PROGRESS.get() {
        progress();
    }
    is_pending
}

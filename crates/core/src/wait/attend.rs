//! What waits of all routines attend to: messages need their PE, also while it waits for something else.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Requests that are under way; 0: waits attend to nothing.
pub static PENDING: AtomicU32 = AtomicU32::new(0);

static PROGRESS: OnceLock<fn()> = OnceLock::new();

/// Sets what makes progress; only the first call counts.
pub fn set(progress: fn()) {
    // A second initialisation brings the same.
    let _ = PROGRESS.set(progress);
}

/// Makes progress, if a request is under way; whether one is.
#[inline]
pub fn attend() -> bool {
    let is_pending = PENDING.load(Ordering::Relaxed) != 0;
    if is_pending && let Some(progress) = PROGRESS.get() {
        progress();
    }
    is_pending
}

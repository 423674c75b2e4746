//! Whether the arguments of all calls are checked (`SHMEM_CHECK`), and whether calls are recorded.

use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);
/// Whether calls may go without both: the library is initialised, and both are off.
static WAIVED: AtomicBool = AtomicBool::new(false);

/// Turns the checks on or off, once the library is initialised; calls may be `recorded` in any case.
pub fn set(on: bool, recorded: bool) {
    ON.store(on, Ordering::Relaxed);
    WAIVED.store(!on && !recorded, Ordering::Release);
}

/// Ends what [`set`] began: every call has to look whether the library is initialised.
pub fn end() {
    WAIVED.store(false, Ordering::Release);
}

/// Whether they are on, or were before the library was finalised.
#[inline]
pub fn are_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether a call may go without checks and record.
#[inline(always)] // a comparison in every exported function that has something to check
pub fn are_waived() -> bool {
    WAIVED.load(Ordering::Relaxed)
}

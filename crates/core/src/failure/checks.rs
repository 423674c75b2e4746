//! Whether the arguments of all calls are checked (`SHMEM_CHECK`).

use std::sync::atomic::{AtomicBool, Ordering};

static ON: AtomicBool = AtomicBool::new(false);
/// Whether calls may go without: the library is initialised, and checks are off.
static WAIVED: AtomicBool = AtomicBool::new(false);

/// Turns the checks on or off, once the library is initialised.
pub(crate) fn set(on: bool) {
    ON.store(on, Ordering::Relaxed);
    WAIVED.store(!on, Ordering::Release);
}

/// Ends what [`set`] began: every call has to look whether the library is initialised.
pub(crate) fn end() {
    WAIVED.store(false, Ordering::Release);
}

/// Whether they are on, or were before the library was finalised.
#[inline]
pub(crate) fn are_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Whether a call may go without.
#[inline(always)] // a comparison in every exported function that has something to check
pub(crate) fn are_waived() -> bool {
    WAIVED.load(Ordering::Relaxed)
}

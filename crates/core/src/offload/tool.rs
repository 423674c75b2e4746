//! Whether OpenMP's run-time has taken this library as its tool.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a run-time has asked for this tool.
pub(super) static IS_ASKED_FOR: AtomicBool = AtomicBool::new(false);
/// Whether it calls this library when threads wait.
pub(super) static IS_ACTIVE: AtomicBool = AtomicBool::new(false);
/// Whether threads of OpenMP help when they wait.
pub(super) fn is_active() -> bool {
    IS_ACTIVE.load(Ordering::Relaxed)
}

/// Why threads of OpenMP do not help though they are to; None: they do, or will.
pub(super) fn refusal() -> Option<&'static str> {
    if is_active() {
        return None;
    }
    // SAFETY: the name is a C string.
    let known = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"omp_get_max_threads".as_ptr()) };
    if known.is_null() {
        return Some("the program has no run-time of OpenMP");
    }
    if !IS_ASKED_FOR.load(Ordering::Relaxed) {
        // A run-time looks for a tool when it is first used.
        // SAFETY: OpenMP's function of this name has this type.
        let first_use: extern "C" fn() -> c_int = unsafe { std::mem::transmute(known) };
        first_use();
    }
    match is_active() {
        true => None,
        false => Some("OpenMP's run-time has another tool, or no interface for tools"),
    }
}

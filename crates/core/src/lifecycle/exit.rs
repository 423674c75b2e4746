//! What is to be done when a PE exits that a launcher other than `oshrun` has started: that one
//! does not look at the PE's state, but must learn from the PE whether the end is a regular one.

use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::Ordering;

use super::finalise;
use crate::job::region::PeState;
use crate::job::{self, Attachment};
use crate::runtime;

/// Arranges for it, once.
pub(super) fn tell_launcher_at_exit(job: &'static Attachment) {
    static ONCE: Once = Once::new();
    if job.launched {
        return;
    }
    ONCE.call_once(|| {
        unsafe extern "C" {
            safe fn on_exit(
                function: extern "C" fn(c_int, *mut c_void),
                argument: *mut c_void,
            ) -> c_int;
        }
        // Registered early, so it is called after the program's own functions. It fails only
        // for want of memory; the launcher then takes every exit for a failure.
        let _ = on_exit(at_exit, std::ptr::null_mut());
    });
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let Some(job) = job::joined() else {
        return;
    };
    let state = || {
        PeState::from_word(
            job.control
                .pe_block(job.index)
                .state
                .load(Ordering::Acquire),
        )
    };
    // A program that returns from main ends the library's part, too (standard, "Execution
    // Model"); one that exits with an error does not wait for the others.
    if state() == PeState::Initialized && status == 0 && runtime::current().is_some() {
        finalise("exit");
    }
    match state() {
        PeState::Finalized | PeState::Started => job.part(),
        // The library itself has notified the others.
        PeState::GlobalExit if status == 0 && job.placement.spans_nodes() => job.part(),
        PeState::GlobalExit => job.abort(status, "shmem_global_exit"),
        PeState::Initialized | PeState::Reported => {
            job.abort(status.max(1), "a PE has exited without shmem_finalize");
        }
    }
}

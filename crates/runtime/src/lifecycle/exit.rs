//! What is to be done when a PE exits that a launcher other than `oshrun` has started: that one
//! does not look at the PE's state, but must learn from the PE whether the end is a regular one. Some do not
//! even look at the exit status of a process that has not spoken to them: so a process that fails before
//! `shmem_init`, where the other PEs wait for it, does so as it exits.

use std::ffi::{c_int, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use ferroshmem_config as config;
use ferroshmem_core::failure::fatal;
use ferroshmem_core::job::{self, Attachment};
use ferroshmem_layout::PeState;
use ferroshmem_platform::output;

use super::finalise;
use crate::runtime;

/// Arranges for it, once.
pub(super) fn notify_launcher_at_exit(job: &'static Attachment) {
    static ONCE: Once = Once::new();
    if job.launched {
        return;
    }
    // Registered early, so it is called after the program's own functions. It fails only
    // for want of memory; the launcher then takes every exit for a failure.
    ONCE.call_once(|| {
        let _ = on_exit(at_exit, std::ptr::null_mut());
    });
}

unsafe extern "C" {
    safe fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The process that is to become a PE: children that it forks are none.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Arranges that a process which a launcher has started, and which exits with an error before it calls
/// `shmem_init`, ends the job. Called before `main`.
pub fn watch_until_initialised() {
    static ONCE: Once = Once::new();
    if ferroshmem_bootstrap::is_launched() && config::handover().is_none() {
        STARTED.store(std::process::id(), Ordering::Relaxed);
        ONCE.call_once(|| {
            let _ = on_exit(at_early_exit, std::ptr::null_mut());
        });
    }
}

extern "C" fn at_early_exit(status: c_int, _: *mut c_void) {
    let is_pe = STARTED.load(Ordering::Relaxed) == std::process::id();
    if status == 0 || !is_pe || job::has_tried_to_join() {
        return;
    }
    if let Some(launcher) = job::launcher_of_unjoined().filter(|l| l.size() > 1) {
        let line = format!(
            "ferroshmem: PE {}: exited with status {status} before shmem_init, in which the other PEs wait",
            launcher.rank()
        );
        // The C library writes out the program's streams after this function.
        output::flush();
        fatal::print_line(&line);
        job::abort(launcher, status, &line);
    }
}

extern "C" fn at_exit(status: c_int, _: *mut c_void) {
    let Some(job) = job::joined().filter(|job| job.is_of_this_process()) else {
        return;
    };
    let state = || PeState::from_word(job.block().state.load(Ordering::Acquire));
    // A program that returns from main ends the library's part, too (standard, "Execution
    // Model"); one that exits with an error does not wait for the others.
    if state() == PeState::Initialized && status == 0 && runtime::current().is_some() {
        finalise("exit");
    }
    // The C library writes out the program's streams after this function, when the launcher may have ended
    // this process.
    let abort = |status, why| {
        output::flush();
        job.abort(status, why);
    };
    match state() {
        PeState::Finalized | PeState::Started => job.finalize(),
        // The library itself has notified the others.
        PeState::GlobalExit if status == 0 && job.placement.spans_nodes() => job.finalize(),
        PeState::GlobalExit => abort(status, "shmem_global_exit"),
        // The others notice it.
        _ if job.control.failures().can_go_on() => {}
        PeState::Initialized | PeState::Reported | PeState::Failed => {
            abort(status.max(1), "a PE has exited without shmem_finalize");
        }
    }
}

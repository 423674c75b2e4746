//! Children of `fork`: they keep the globals' values, but what they write stays their own.

use std::sync::OnceLock;

use ferroshmem_core::failure::fatal::print_line;
use ferroshmem_core::job;
use ferroshmem_core::memory::globals::Globals;

static SHARED: OnceLock<(Globals, u64)> = OnceLock::new();

/// Notes that `globals` are backed by the job's memory at `offset` from now on, which is
/// what a child must undo.
pub(crate) fn isolate_children(globals: &Globals, offset: u64) {
    if SHARED.set((globals.clone(), offset)).is_ok() {
        // SAFETY: the handler is a plain function of this library, which stays loaded.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    }
}

unsafe extern "C" fn in_child() {
    let (Some((globals, offset)), Some(job)) = (SHARED.get(), job::joined()) else {
        return;
    };
    // SAFETY: a child of fork has one thread, this one.
    if let Err(e) = unsafe { globals.make_private(&job.file, *offset) } {
        let pe = job.pe;
        print_line(&format!("ferroshmem: PE {pe}: fork: cannot give the child its own globals: {e}"));
        // SAFETY: ends the child before it can write its parent's variables.
        unsafe { libc::_exit(1) };
    }
}

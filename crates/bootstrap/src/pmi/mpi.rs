//! An MPI in this process, which uses the same connection to the launcher. Saying twice who one
//! is does no harm, but the first finalize closes the connection for both.

use std::ffi::{CStr, c_int};

/// Whether an MPI is between its initialisation and its end: it will finalize the connection.
pub(super) fn is_running() -> bool {
    is(c"MPI_Initialized") && !is(c"MPI_Finalized")
}

/// What one of MPI's questions about itself is answered with; no, if there is no MPI.
fn is(question: &CStr) -> bool {
    // SAFETY: a C string; looks only at what is loaded.
    let function = unsafe { libc::dlsym(libc::RTLD_DEFAULT, question.as_ptr()) };
    if function.is_null() {
        return false;
    }
    // SAFETY: the MPI standard has both functions with this type, callable at any time.
    let ask = unsafe {
        std::mem::transmute::<*mut libc::c_void, unsafe extern "C" fn(*mut c_int) -> c_int>(
            function,
        )
    };
    let mut answer = 0;
    // SAFETY: a pointer to a live int.
    unsafe { ask(&raw mut answer) == 0 && answer != 0 }
}

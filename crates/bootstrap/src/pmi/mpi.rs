//! An MPI in this process, which uses the same connection to the launcher. A second introduction to
//! the server does no harm, but the first finalize closes the connection for both.

use std::ffi::{c_int, c_void};

use libloading::os::unix::Library;

/// Whether an MPI finalizes the connection. MPICH up to 4.0 does in `MPI_Finalize`, newer ones do as the process exits,
/// maybe after this. Open MPI does in `MPI_Finalize`, or is no client of this launcher.
pub(super) fn finalizes() -> bool {
    query("MPI_Initialized") && !(query("MPI_Finalized") && is_open_mpi())
}

fn is_open_mpi() -> bool {
    // SAFETY: the object is not used.
    unsafe { Library::this().get::<*const c_void>("ompi_mpi_comm_world") }.is_ok()
}

/// The result of one of MPI's two queries about itself; false if there is no MPI.
fn query(name: &str) -> bool {
    type Query = unsafe extern "C" fn(*mut c_int) -> c_int;
    let this = Library::this();
    // SAFETY: the MPI standard gives both functions this type.
    let Ok(function) = (unsafe { this.get::<Query>(name) }) else {
        return false;
    };
    let mut flag = 0;
    // SAFETY: the MPI standard has both functions callable at any time; `flag` is a live int.
    unsafe { function(&raw mut flag) == 0 && flag != 0 }
}

//! An MPI in this process, which uses the same connection to the launcher, by PMI. A second introduction to the server
//! does no harm, but the first finalize closes the connection for both. By PMIx, the library counts both.

use std::ffi::{c_int, c_void};

use libloading::os::unix::Library;

/// Whether an MPI finalizes the connection. MPICH up to 4.0 does in `MPI_Finalize`, newer ones do as the process exits,
/// maybe after this. Open MPI does in `MPI_Finalize`, or is no client of this launcher.
pub(crate) fn finalizes() -> bool {
    query("MPI_Initialized") && !(query("MPI_Finalized") && is_open_mpi())
}

/// A session of Open MPI 5, which keeps its runtime while it is open. Open MPI learns its rank from its own
/// `PMIx_Init`, which it leaves out where the process has called that already; its initialisation fails then. With a
/// session that was opened before, `MPI_Init` may come after `shmem_init`.
#[derive(Debug)]
pub(crate) struct Session {
    /// Open MPI's handle, a pointer.
    handle: usize,
}

impl Session {
    /// Opens one, if this process has an Open MPI with sessions that is not initialised.
    pub(crate) fn open() -> Option<Self> {
        type Init = unsafe extern "C" fn(*const c_void, *const c_void, *mut usize) -> c_int;
        if !is_open_mpi() || query("MPI_Initialized") {
            return None;
        }
        let this = Library::this();
        let mut handle = 0;
        // SAFETY: Open MPI's headers give the function this type, and the two variables these names: no options, and
        // errors that are returned. The MPI standard has it callable at any time; `handle` is live.
        let status = unsafe {
            let init = this.get::<Init>("MPI_Session_init").ok()?;
            let info = this.get::<*const c_void>("ompi_mpi_info_null").ok()?.into_raw();
            let errors = this.get::<*const c_void>("ompi_mpi_errors_return").ok()?.into_raw();
            init(info, errors, &raw mut handle)
        };
        (status == 0).then_some(Self { handle })
    }

    /// Closes it: where MPI is not used besides, its runtime ends.
    pub(crate) fn close(&self) {
        type Finalize = unsafe extern "C" fn(*mut usize) -> c_int;
        let mut handle = self.handle;
        // SAFETY: the MPI standard gives the function this type; the session is open, and `handle` is live.
        unsafe {
            if let Ok(finalize) = Library::this().get::<Finalize>("MPI_Session_finalize") {
                finalize(&raw mut handle);
            }
        }
    }
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

//! An MPI in this process, which uses the same connection to the launcher, by PMI. A second introduction does no harm
//! to Hydra's server, but Slurm's takes one alone. The first finalize closes the connection for both. By PMIx, the
//! library counts both.

use std::ffi::{c_char, c_int, c_void};

use libloading::os::unix::Library;

/// Whether an MPI finalizes the connection. MPICH up to 4.0 does in `MPI_Finalize`, newer ones do as the process exits,
/// maybe after this. Open MPI does in `MPI_Finalize`, or is no client of this launcher.
pub(crate) fn finalizes() -> bool {
    query("MPI_Initialized") && !(query("MPI_Finalized") && is_open_mpi())
}

/// Whether an MPI like MPICH has introduced this process to the server.
pub(crate) fn has_introduced() -> bool {
    query("MPI_Initialized") && !is_open_mpi()
}

/// Whether an MPI like MPICH has finalized, and its versions up to 4.0 the connection, too.
pub(crate) fn has_finalized() -> bool {
    query("MPI_Finalized") && !is_open_mpi()
}

/// Initialises MPI for the program, whose threads may all call it, if the process has one that is not initialised.
/// False if there is nothing to do.
pub fn initialise() -> bool {
    /// `MPI_THREAD_MULTIPLE`, in the ABI of Open MPI and in MPICH's.
    const MULTIPLE: c_int = 3;
    type Init = unsafe extern "C" fn(*mut c_int, *mut c_void, c_int, *mut c_int) -> c_int;
    // SAFETY: the MPI standard gives the function this type, and takes null pointers for the arguments of `main`;
    // `provided` is live.
    unsafe {
        match Library::this().get::<Init>("MPI_Init_thread") {
            Ok(init) if !query("MPI_Initialized") => {
                let mut provided = 0;
                init(std::ptr::null_mut(), std::ptr::null_mut(), MULTIPLE, &raw mut provided) == 0
            }
            _ => false,
        }
    }
}

/// Ends it, unless the program has.
pub fn finalise() {
    type Finalize = unsafe extern "C" fn() -> c_int;
    // SAFETY: the MPI standard gives the function this type.
    if let Ok(finalize) = unsafe { Library::this().get::<Finalize>("MPI_Finalize") }
        && !query("MPI_Finalized")
    {
        // SAFETY: MPI is initialised, and no communication of this library's goes by it.
        unsafe { finalize() };
    }
}

/// A session of MPI, which keeps its runtime while it is open, and so its connection to the launcher. With a session
/// that was opened before this process introduces itself, `MPI_Init` may come after `shmem_init`.
#[derive(Debug)]
pub(crate) struct Session {
    /// Open MPI's handle is a pointer, MPICH's an int.
    handle: usize,
}

impl Session {
    /// Opens one, if this process has an Open MPI with sessions (5 or later) that is not initialised. Open MPI learns
    /// its rank from its own `PMIx_Init`, which it leaves out where the process has called that already.
    pub(crate) fn of_open_mpi() -> Option<Self> {
        if query("MPI_Initialized") {
            return None;
        }
        Self::open(address("ompi_mpi_info_null")?, address("ompi_mpi_errors_return")?)
    }

    /// Opens one, if this process has an MPICH with sessions (4 or later), or a relative. Threads get the level of what
    /// is initialised first, so it is the highest.
    pub(crate) fn of_mpich() -> Option<Self> {
        /// MPICH's `MPI_ERRORS_RETURN`, which is part of the ABI that its relatives share.
        const ERRORS_RETURN: usize = 0x5400_0001;
        type Create = unsafe extern "C" fn(*mut c_int) -> c_int;
        type Set = unsafe extern "C" fn(c_int, *const c_char, *const c_char) -> c_int;
        if is_open_mpi() || has_finalized() {
            return None;
        }
        // Older ones end the program over a call before `MPI_Init`.
        address("MPI_Session_init")?;
        let mut info = 0;
        // SAFETY: the MPI standard gives the functions these types, with MPICH's handles, which are ints, and has them
        // callable at any time; `info` is live, and the strings end in a zero.
        unsafe {
            Library::this().get::<Create>("MPI_Info_create").ok()?(&raw mut info);
            let set = Library::this().get::<Set>("MPI_Info_set").ok()?;
            set(info, c"thread_level".as_ptr(), c"MPI_THREAD_MULTIPLE".as_ptr());
        }
        Self::open(info as usize, ERRORS_RETURN)
    }

    /// Opens one by these handles of options, and of the way to handle errors.
    fn open(info: usize, errors: usize) -> Option<Self> {
        type Init = unsafe extern "C" fn(usize, usize, *mut usize) -> c_int;
        let mut handle = 0;
        // SAFETY: the MPI standard gives the function this type but for the handles, which are pointers or, in the
        // lower half of a word, ints. It is callable at any time; `handle` is live, and its upper half zero.
        let status = unsafe {
            let init = Library::this().get::<Init>("MPI_Session_init").ok()?;
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
    address("ompi_mpi_comm_world").is_some()
}

/// Where this process has a function or an object of this name.
fn address(name: &str) -> Option<usize> {
    // SAFETY: it is not used.
    unsafe { Library::this().get::<*const c_void>(name) }.ok().map(|symbol| symbol.into_raw() as usize)
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

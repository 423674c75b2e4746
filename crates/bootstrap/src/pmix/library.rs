//! PMIx's library, opened at run time.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::path::Path;

use libloading::os::unix::{Library as Handle, RTLD_GLOBAL, RTLD_NOW};

use super::types::{App, Info, OnDone, OnSpawned, OnValue, Process, Status, Value};
use crate::Error;

/// The library's name since version 2 of PMIx.
const NAME: &str = "libpmix.so.2";

/// The functions that are needed, as `pmix.h` declares them.
pub(super) struct Library {
    pub init: unsafe extern "C" fn(*mut Process, *const Info, usize) -> Status,
    pub finalize: unsafe extern "C" fn(*const Info, usize) -> Status,
    pub abort: unsafe extern "C" fn(c_int, *const c_char, *const Process, usize) -> Status,
    pub put: unsafe extern "C" fn(u8, *const c_char, *const Value) -> Status,
    pub commit: unsafe extern "C" fn() -> Status,
    pub fence: unsafe extern "C" fn(*const Process, usize, *const Info, usize, OnDone, *mut c_void) -> Status,
    pub get: unsafe extern "C" fn(*const Process, *const c_char, *const Info, usize, OnValue, *mut c_void) -> Status,
    pub spawn: unsafe extern "C" fn(*const Info, usize, *const App, usize, OnSpawned, *mut c_void) -> Status,
    error: unsafe extern "C" fn(Status) -> *const c_char,
}

impl Library {
    /// Opens the library, for good: its threads may run until the process ends.
    pub(super) fn open(file: Option<&Path>) -> Result<Self, Error> {
        let file = file.unwrap_or(Path::new(NAME));
        let failed = |e: libloading::Error| Error::PmixLibrary(text(&e));
        // Global: plugins of some versions use the library's functions without linking it.
        // SAFETY: PMIx's initialisers have no preconditions.
        let handle = unsafe { Handle::open(Some(file), RTLD_NOW | RTLD_GLOBAL) }.map_err(failed)?;
        let handle = std::mem::ManuallyDrop::new(handle);
        // SAFETY: the types of the fields are those that pmix.h declares for these names.
        unsafe {
            Ok(Self {
                init: *handle.get(b"PMIx_Init").map_err(failed)?,
                finalize: *handle.get(b"PMIx_Finalize").map_err(failed)?,
                abort: *handle.get(b"PMIx_Abort").map_err(failed)?,
                put: *handle.get(b"PMIx_Put").map_err(failed)?,
                commit: *handle.get(b"PMIx_Commit").map_err(failed)?,
                fence: *handle.get(b"PMIx_Fence_nb").map_err(failed)?,
                get: *handle.get(b"PMIx_Get_nb").map_err(failed)?,
                spawn: *handle.get(b"PMIx_Spawn_nb").map_err(failed)?,
                error: *handle.get(b"PMIx_Error_string").map_err(failed)?,
            })
        }
    }

    /// PMIx's name of a status.
    pub(super) fn name_of(&self, status: Status) -> String {
        // SAFETY: any number may be asked for; the text is static.
        let name = unsafe { (self.error)(status) };
        if name.is_null() {
            return status.to_string();
        }
        // SAFETY: a C string, by pmix.h.
        let name = unsafe { CStr::from_ptr(name) };
        name.to_string_lossy().into_owned()
    }
}

/// The dynamic linker's message, which `Display` leaves to the source.
fn text(e: &libloading::Error) -> String {
    std::error::Error::source(e).map_or_else(|| e.to_string(), ToString::to_string)
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("libpmix")
    }
}

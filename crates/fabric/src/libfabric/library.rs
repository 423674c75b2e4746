//! libfabric, opened at run time.

use std::ffi::{CStr, c_char, c_int, c_void};

use libloading::os::unix;

use super::signals::Actions;
use super::{fi_info, fid_fabric};
use crate::Error;

type GetInfo = unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const fi_info, *mut *mut fi_info) -> c_int;
type FreeInfo = unsafe extern "C" fn(*mut fi_info);
type DupInfo = unsafe extern "C" fn(*const fi_info) -> *mut fi_info;
type OpenFabric = unsafe extern "C" fn(*mut super::fi_fabric_attr, *mut *mut fid_fabric, *mut c_void) -> c_int;

/// libfabric, opened. It stays loaded: providers have threads and exit handlers of their own.
pub struct Library {
    pub getinfo: GetInfo,
    pub freeinfo: FreeInfo,
    pub dupinfo: DupInfo,
    pub fabric: OpenFabric,
    strerror: unsafe extern "C" fn(c_int) -> *const c_char,
    version: unsafe extern "C" fn() -> u32,
}

impl Library {
    /// Opens `path`, or what the loader finds as [`LIBFABRIC`](crate::LIBFABRIC).
    ///
    /// # Errors
    /// There is no such library, or it lacks a function.
    pub fn open(path: Option<&str>) -> Result<Library, Error> {
        let name = path.unwrap_or(crate::LIBFABRIC);
        let actions = Actions::now();
        // SAFETY: the library's initialisers are libfabric's; what they change of signals is undone.
        let library = unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | unix::RTLD_LOCAL) };
        drop(actions);
        let library = library.map_err(|error| Error::LibraryMissing { reason: error.to_string() })?;
        // It stays loaded, and the crate libloading knows no versions of symbols.
        let handle = library.into_raw();
        // The versions are those whose structures the bindings have; a later library keeps them
        // beside its own.
        // SAFETY: the types are those of the headers.
        unsafe {
            Ok(Library {
                getinfo: std::mem::transmute::<*mut c_void, GetInfo>(find(
                    handle,
                    c"fi_getinfo",
                    Some(c"FABRIC_1.3"),
                    name,
                )?),
                freeinfo: std::mem::transmute::<*mut c_void, FreeInfo>(find(
                    handle,
                    c"fi_freeinfo",
                    Some(c"FABRIC_1.3"),
                    name,
                )?),
                dupinfo: std::mem::transmute::<*mut c_void, DupInfo>(find(
                    handle,
                    c"fi_dupinfo",
                    Some(c"FABRIC_1.3"),
                    name,
                )?),
                fabric: std::mem::transmute::<*mut c_void, OpenFabric>(find(
                    handle,
                    c"fi_fabric",
                    Some(c"FABRIC_1.1"),
                    name,
                )?),
                strerror: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(find(
                    handle, c"fi_strerror", None, name,
                )?),
                version: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> u32>(find(
                    handle, c"fi_version", None, name,
                )?),
            })
        }
    }

    /// libfabric's text for an error, of either sign.
    pub fn strerror(&self, error: isize) -> String {
        let code = c_int::try_from(error.unsigned_abs()).unwrap_or(c_int::MAX);
        // SAFETY: takes any number; the string is static.
        let text = unsafe { (self.strerror)(code) };
        if text.is_null() {
            return format!("error {code}");
        }
        // SAFETY: not null, NUL-terminated.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }

    /// Major and minor.
    pub fn version(&self) -> (u32, u32) {
        // SAFETY: no arguments.
        let version = unsafe { (self.version)() };
        (version >> 16, version & 0xffff)
    }
}

/// The address of a function, in a version of the library's interface.
///
/// # Safety
/// `handle` is an open library's.
unsafe fn find(
    handle: *mut c_void,
    name: &'static CStr,
    version: Option<&CStr>,
    library: &str,
) -> Result<*mut c_void, Error> {
    // SAFETY: the caller promises that the handle is open; the strings are NUL-terminated.
    let address = unsafe {
        match version {
            Some(version) => libc::dlvsym(handle, name.as_ptr(), version.as_ptr()),
            None => libc::dlsym(handle, name.as_ptr()),
        }
    };
    if address.is_null() {
        return Err(Error::LibraryTooOld { library: library.to_owned(), function: name.to_str().unwrap_or_default() });
    }
    Ok(address)
}

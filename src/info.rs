//! The library itself (standard, "Library Query Routines").
#![allow(unsafe_code)]

use std::ffi::CStr;

use ferroshmem_api::setup;

/// Room for the longest name (`SHMEM_MAX_NAME_LEN`).
const MAX_NAME_LEN: usize = 256;

/// The version of the standard that the library implements: major and minor number. (Standard:
/// `shmem_info_get_version`)
///
/// ```
/// assert!(ferroshmem::info::standard() >= (1, 6));
/// ```
pub fn standard() -> (u32, u32) {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the results are variables.
    unsafe { setup::info_get_version("info::standard", &raw mut major, &raw mut minor) };
    (major as u32, minor as u32)
}

/// Name and version of the library. (Standard: `shmem_info_get_name`)
///
/// ```
/// assert!(ferroshmem::info::name().contains("FerroSHMEM"));
/// ```
pub fn name() -> String {
    let mut name = [0; MAX_NAME_LEN];
    // SAFETY: the result has room for the longest name.
    unsafe { setup::info_get_name("info::name", name.as_mut_ptr()) };
    // SAFETY: the name ends within the array, in a zero.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}

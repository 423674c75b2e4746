//! Objects that jobs lend each other (extension): export by a name, and import from a group.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::ptr;

use super::handles::find;
use ferroshmem_core::failure::fatal::{fatal, warn};
pub use ferroshmem_core::memory::MemoryKind;
pub use ferroshmem_layout::ExportError;
use ferroshmem_layout::Exported;
use ferroshmem_runtime as runtime;

/// Why an object cannot be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The group has none of this name.
    #[error("is not exported")]
    Missing,
    /// It has another number of bytes.
    #[error("has {size} bytes, not {asked}")]
    Size {
        /// Its bytes.
        size: u64,
        /// The bytes asked for.
        asked: usize,
    },
    /// It has other elements.
    #[error("has elements of another type, or is shared in another way")]
    Tag,
    /// Its memory is not the heap, nor globals of the same program.
    #[error("is in memory that is not shared")]
    NotShared,
}

/// As [`import`], if the elements are those that `tag` describes.
///
/// # Errors
/// If there is no such object.
pub fn import_as(
    name: &'static str,
    group: usize,
    object: &[u8],
    size: usize,
    tag: Option<u64>,
) -> Result<usize, ImportError> {
    let rt = runtime::get(name);
    let (_, connection) = find(name, rt, group).ok_or(ImportError::Missing)?;
    let found = connection.exported(object);
    let found = found.ok_or(ImportError::Missing)?;
    if tag.is_some_and(|tag| tag != found.tag) {
        return Err(ImportError::Tag);
    }
    if found.size != size as u64 {
        return Err(ImportError::Size { size: found.size, asked: size });
    }
    let space = rt.node.transport.memory.space;
    let addr = connection.address_of(space, found.place, found.size);
    addr.ok_or(ImportError::NotShared)
}

/// The name of an object.
///
/// # Safety
/// `object` is a string or null.
unsafe fn object_name<'a>(name: &str, object: *const c_char) -> &'a [u8] {
    if object.is_null() {
        fatal(name, "name is a null pointer: give the name of an object");
    }
    // SAFETY: the caller promises a string.
    unsafe { CStr::from_ptr(object) }.to_bytes()
}

/// Lets PEs of other jobs import the `size` bytes at `addr`, which are symmetric, by a name: 0, or -1 and a
/// line.
///
/// # Safety
/// `object` is a string.
pub unsafe fn export(name: &'static str, object: *const c_char, addr: *const c_void, size: usize) -> c_int {
    // SAFETY: the caller promises that `object` is a C string.
    let object = unsafe { object_name(name, object) };
    done(name, object, export_as(name, object, addr, size, 0))
}

/// As [`export`], of elements that `tag` describes, which is 0 for memory.
///
/// # Errors
/// If the name is no name or stands for another object, or there is no room.
pub fn export_as(
    name: &'static str,
    object: &[u8],
    addr: *const c_void,
    size: usize,
    tag: u64,
) -> Result<(), ExportError> {
    let rt = runtime::get(name);
    let space = rt.node.transport.memory.space;
    if space.kind(addr.addr(), size) == MemoryKind::NotSymmetric {
        fatal(
            name,
            format_args!(
                "addr = {addr:?}: {size} bytes are not symmetric memory: use shmem_malloc or a global variable"
            ),
        );
    }
    let exported = Exported { place: space.place(addr.expose_provenance()), size: size as u64, tag };
    rt.node.job.control.exports().add(object, exported)
}

/// Ends the export of a name: 0, or -1 and a line.
///
/// # Safety
/// `object` is a string.
pub unsafe fn unexport(name: &'static str, object: *const c_char) -> c_int {
    // SAFETY: the caller promises that `object` is a C string.
    let object = unsafe { object_name(name, object) };
    if end_export(name, object) { 0 } else { -1 }
}

/// Ends the export of a name; whether there was one.
pub fn end_export(name: &'static str, object: &[u8]) -> bool {
    let exports = runtime::get(name).node.job.control.exports();
    exports.remove(object)
}

fn done(name: &str, object: &[u8], result: Result<(), impl Display>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(why) => {
            let object = String::from_utf8_lossy(object);
            warn(name, &format!("\"{object}\": {why}"));
            -1
        }
    }
}

/// The address by which this PE names an object that a group has exported, for routines that are given the
/// group's PEs: a null pointer if it has none of this name, or of another number of bytes.
///
/// # Safety
/// `object` is a string.
pub unsafe fn import(name: &'static str, group: usize, object: *const c_char, size: usize) -> *mut c_void {
    // SAFETY: the caller promises that `object` is a C string.
    let object = unsafe { object_name(name, object) };
    match import_as(name, group, object, size, None) {
        Ok(addr) => ptr::with_exposed_provenance_mut(addr),
        Err(ImportError::Missing) => ptr::null_mut(),
        Err(why) => {
            let object = String::from_utf8_lossy(object);
            warn(name, &format!("\"{object}\" {why}"));
            ptr::null_mut()
        }
    }
}

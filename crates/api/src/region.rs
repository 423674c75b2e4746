//! Regions of the program's own, which profiles and traces name.

use std::ffi::{CStr, c_char};
use std::panic::Location;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_profiling as profiling;

/// Whether regions are recorded.
#[inline]
pub fn is_recorded() -> bool {
    profiling::is_on()
}

/// Enters a region of this name.
///
/// # Safety
/// `name` is a string.
pub unsafe fn begin(routine: &'static str, name: *const c_char) {
    if name.is_null() {
        fatal(routine, "name is a null pointer: give the region a name");
    }
    if is_recorded() {
        // SAFETY: the caller promises a string.
        let name = unsafe { CStr::from_ptr(name) };
        profiling::enter_region(&name.to_string_lossy(), None);
    }
}

/// Enters a region of this name, whose place is not known.
#[cold]
pub fn begin_named(name: &str) {
    profiling::enter_region(name, None);
}

/// Enters a region of this name at a line of Rust.
#[cold]
pub fn begin_at(name: &str, place: &'static Location<'static>) {
    profiling::enter_region(name, Some(place));
}

/// Leaves the region that this thread has entered last.
pub fn end(_routine: &'static str) {
    if is_recorded() {
        profiling::leave_region();
    }
}

//! What a program that contains the runtime, as one in Rust does, and the preloaded library of `oshrun --check` hand to
//! each other.

use std::ffi::{c_int, c_long, c_void};

use crate::Operation;

/// A text of the program, which stays.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Text {
    start: *const u8,
    len: usize,
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Self {
        Self { start: text.as_ptr(), len: text.len() }
    }
}

impl Text {
    /// The text itself.
    pub fn get(self) -> &'static str {
        // SAFETY: made of a text that stays.
        unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(self.start, self.len)) }
    }
}

/// A call of the Rust API.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct CheckedCall {
    /// The path of the method.
    pub routine: Text,
    /// The file and the line that call it.
    pub file: Text,
    #[allow(missing_docs, reason = "see above")]
    pub line: usize,
    /// What it does.
    pub operation: Operation,
    /// The context of what it does; of that the PE; the team.
    pub context: usize,
    #[allow(missing_docs, reason = "see above")]
    pub pe: usize,
    #[allow(missing_docs, reason = "see above")]
    pub team: usize,
    /// The memory, by its address on this PE: `count` times `len` bytes, whose starts are `stride` bytes apart. Of an
    /// allocation, the bytes are at `at`.
    pub at: usize,
    #[allow(missing_docs, reason = "see above")]
    pub stride: usize,
    #[allow(missing_docs, reason = "see above")]
    pub len: usize,
    #[allow(missing_docs, reason = "see above")]
    pub count: usize,
    /// Of an allocation, the address.
    pub result: usize,
    /// For the checks, from the call's start to its end: zeros at the start.
    pub scratch: [usize; 4],
}

/// What the checks call of the library: `struct shmemi_library` of `libshmem-check/c/check.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
#[allow(missing_docs, reason = "their names are those of the routines")]
pub struct CheckedLibrary {
    pub my_pe: Option<unsafe extern "C" fn() -> c_int>,
    pub n_pes: Option<unsafe extern "C" fn() -> c_int>,
    pub ptr: Option<unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void>,
    pub addr_accessible: Option<unsafe extern "C" fn(*const c_void, c_int) -> c_int>,
    pub team_n_pes: Option<unsafe extern "C" fn(usize) -> c_int>,
    pub team_translate_pe: Option<unsafe extern "C" fn(usize, c_int, usize) -> c_int>,
    pub ctx_get_team: Option<unsafe extern "C" fn(usize, *mut usize) -> c_int>,
    pub barrier_all: Option<unsafe extern "C" fn()>,
    pub malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    pub align: Option<unsafe extern "C" fn(usize, usize) -> *mut c_void>,
    pub malloc_with_hints: Option<unsafe extern "C" fn(usize, c_long) -> *mut c_void>,
    pub realloc: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
    pub world: usize,
    pub default_context: usize,
}

//! `c/part.c`: what the program of this crate has done in C.

use std::ffi::{c_int, c_long};

unsafe extern "C" {
    /// Puts `n` elements of mine to the next PE, and waits for all PEs.
    pub fn part_shift(dest: *mut i64, source: *const i64, n: usize);
    /// `dest[i]` becomes the sum of all PEs' `source[i]`.
    pub fn part_sum(dest: *mut i64, source: *const i64, n: usize) -> c_int;
    /// Adds 1 to a counter of PE `pe`, `n` times.
    pub fn part_count(counter: *mut i64, n: usize, pe: c_int);
    /// Waits for all PEs.
    pub fn part_barrier();

    /// Symmetric memory of C.
    pub fn part_alloc(n: usize) -> *mut c_long;
    /// Frees it.
    pub fn part_free(memory: *mut c_long);
    /// Gets an element of PE `pe`.
    pub fn part_get(source: *const c_long, pe: c_int) -> c_long;

    /// Adds to a global variable of C on PE `pe`.
    pub fn part_add_to_global(value: c_long, pe: c_int);
    /// This PE's copy of that variable.
    pub safe fn part_global() -> c_long;

    /// A library in C that initialises and finalises OpenSHMEM for itself; the number of PEs.
    pub fn part_by_itself() -> c_int;
    /// `shmem_init`.
    pub fn part_init();
    /// `shmem_finalize`.
    pub fn part_finalize();
    /// Whether puts in C are stores.
    pub safe fn part_is_inlined() -> c_int;
}

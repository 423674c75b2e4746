//! `c/loops.c`: loops of inlined operations, for comparison with loops in Rust.
//!
//! One side of each is symmetric, on PE `pe`; the other is any memory of this PE. Both have `n`
//! elements, or `nelems`.

use std::ffi::{c_int, c_long};

unsafe extern "C" {
    /// `shmem_p` of each element.
    pub fn loop_p(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
    /// `shmem_g` of each element.
    pub fn loop_g(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
    /// `shmem_put` of each element.
    pub fn loop_put(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
    /// `shmem_get` of each element.
    pub fn loop_get(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
    /// `shmem_put` of `nelems` elements, `n` times.
    pub fn loop_put_many(dest: *mut c_long, source: *const c_long, n: usize, nelems: usize, pe: c_int);
    /// `shmem_get` of `nelems` elements, `n` times.
    pub fn loop_get_many(dest: *mut c_long, source: *const c_long, n: usize, nelems: usize, pe: c_int);
    /// `shmem_atomic_fetch_add` to each element; `old` is what was there.
    pub fn loop_fetch_add(dest: *mut c_long, old: *mut c_long, n: usize, pe: c_int);
    /// `shmem_atomic_swap` of each element with `old`.
    pub fn loop_swap(dest: *mut c_long, old: *mut c_long, n: usize, pe: c_int);
    /// `shmem_atomic_fetch` of each element.
    pub fn loop_fetch(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
    /// `shmem_atomic_set` of each element.
    pub fn loop_set(dest: *mut c_long, source: *const c_long, n: usize, pe: c_int);
}

//! Symmetric memory of a measuring job.

use ferroshmem_api::{memory, setup};

use super::NAME;

/// A symmetric array of `f64`, on every PE.
#[derive(Debug)]
pub(super) struct Buffer {
    start: *mut f64,
    len: usize,
}

impl Buffer {
    /// Allocates `len` elements, all `value`. Collective. A heap without room ends the job.
    pub(super) fn new(len: usize, value: f64) -> Self {
        let start: *mut f64 = memory::malloc(NAME, len.max(1) * size_of::<f64>()).cast();
        if start.is_null() {
            eprintln!("{NAME}: the symmetric heap has no room for {len} numbers");
            setup::global_exit(NAME, 1);
        }
        let mut this = Self { start, len };
        this.fill(value);
        this
    }

    /// Writes `value` to all elements.
    pub(super) fn fill(&mut self, value: f64) {
        for i in 0..self.len {
            self.set(i, value);
        }
    }

    /// Writes number `i` of this PE's copy.
    pub(super) fn set(&mut self, i: usize, value: f64) {
        assert!(i < self.len);
        // SAFETY: within the allocation. Volatile: other processes are to find it.
        unsafe { self.start.add(i).write_volatile(value) };
    }

    /// Number `i` of the copy of PE `pe`.
    pub(super) fn get(&self, pe: usize, i: usize) -> f64 {
        assert!(i < self.len);
        // SAFETY: within the allocation. Volatile: other processes write it.
        unsafe { self.of(pe).add(i).read_volatile() }
    }

    /// This PE's copy.
    pub(super) fn mine(&self) -> *mut f64 {
        self.start
    }

    /// The copy of PE `pe`.
    pub(super) fn of(&self, pe: usize) -> *mut f64 {
        setup::ptr(NAME, self.start.cast(), pe as i32).cast()
    }
}

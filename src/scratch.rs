//! Symmetric memory for collectives of values in private memory.
#![allow(unsafe_code)]

use std::ffi::c_void;

use ferroshmem_api::{memory, setup};

use crate::init;

/// Most bytes that a PE contributes to one collective call; longer values take several calls.
pub(crate) const CHUNK: usize = 4096;

/// A source of [`CHUNK`] bytes, and a destination of [`CHUNK`] bytes for each PE. Its pages are
/// allocated at their first use.
#[derive(Debug)]
pub(crate) struct Scratch {
    start: *mut c_void,
}

impl Scratch {
    /// Allocates it; collective over the world, and part of its initialisation.
    pub(crate) fn new() -> Self {
        let start = memory::align("World::init", CHUNK, CHUNK * (init::n_pes() + 1));
        if start.is_null() {
            setup::misuse(
                "World::init",
                "the symmetric heap has no room for a page for each PE: set SHMEM_SYMMETRIC_SIZE to more",
            );
        }
        Self { start }
    }

    /// Address of what this PE contributes.
    pub(crate) fn source<T>(&self) -> *mut T {
        self.start.cast()
    }

    /// Where it is in the heap, which is the same on all PEs.
    pub(crate) fn place(&self) -> usize {
        self.start.addr().wrapping_sub(init::windows().heap)
    }

    /// Address of the result.
    pub(crate) fn dest<T>(&self) -> *mut T {
        // SAFETY: within the block, which has `CHUNK` bytes more for each PE.
        unsafe { self.start.byte_add(CHUNK) }.cast()
    }
}

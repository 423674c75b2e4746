//! Symmetric memory for collectives of values that are not in symmetric memory.
#![allow(unsafe_code)]

use std::ffi::c_void;

use ferroshmem_core::api::{memory, setup};

use crate::init;

/// Bytes that a PE gives to one collective call; longer values take several.
pub(crate) const CHUNK: usize = 4096;

/// A source of [`CHUNK`] bytes, and a destination for as many of each PE. Its pages exist once they
/// are used.
#[derive(Debug)]
pub(crate) struct Scratch {
    start: *mut c_void,
}

impl Scratch {
    /// Allocates it; collective over the world, in whose initialisation it is.
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

    /// Where this PE puts what it gives.
    pub(crate) fn source<T>(&self) -> *mut T {
        self.start.cast()
    }

    /// Where it finds what it gets.
    pub(crate) fn dest<T>(&self) -> *mut T {
        // SAFETY: within the block.
        unsafe { self.start.byte_add(CHUNK) }.cast()
    }
}

//! Symmetric memory for collectives of values in private memory.
#![allow(unsafe_code)]

use std::ffi::c_void;

use ferroshmem_api::{memory, setup};

use crate::init;

/// Most bytes that a PE contributes to one collective call; longer values take several calls.
pub(crate) const CHUNK: usize = 4096;

/// Bytes of the destination in a job of so many PEs: a chunk for each, and one more, so that a job of one PE has room
/// for a byte of each member where the other job of a group has as many PEs as a node can have, 4,096.
pub(crate) fn room(pes: usize) -> usize {
    CHUNK * (pes + 1)
}

/// A source of [`CHUNK`] bytes, and a destination of [`room`] bytes. Its pages are allocated at their first use.
#[derive(Debug)]
pub(crate) struct Scratch {
    start: *mut c_void,
}

impl Scratch {
    /// Allocates it; collective over the world, and part of its initialisation.
    pub(crate) fn new() -> Self {
        let start = memory::align("World::init", CHUNK, CHUNK + room(init::n_pes()));
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
        // SAFETY: within the block, which has `room` bytes more.
        unsafe { self.start.byte_add(CHUNK) }.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_group_gathers_of_the_largest() {
        let most = 4096; // PEs of a node
        assert!((1..=most).all(|pes| room(pes) / (pes + most) > 0));
    }
}

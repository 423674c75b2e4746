//! Copying from and to other members' arrays, wherever they are.

use super::copy_apart;
use ferroshmem_fabric::Blocks;

use crate::runtime::Runtime;
use crate::symmetric::Target;

impl Runtime {
    /// Copies `bytes` bytes of PE `pe`'s copy of `own`.
    ///
    /// # Safety
    /// Both places are valid for `bytes` bytes; they are the same or do not overlap.
    pub(super) unsafe fn copy_from(
        &self,
        name: &str,
        to: *mut u8,
        own: *const u8,
        pe: usize,
        bytes: usize,
    ) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.target(name, "source", own.cast(), bytes, pe) {
                Target::Here(from) => copy_apart(to, from, bytes),
                Target::There(from) => {
                    let link = self.link();
                    link.fabric().get(&link.stream, to, from, bytes);
                }
            }
        }
    }

    /// Copies `bytes` bytes to PE `pe`'s copy of `own`.
    ///
    /// # Safety
    /// As for `copy_from`.
    pub(super) unsafe fn copy_to(
        &self,
        name: &str,
        own: *mut u8,
        pe: usize,
        from: *const u8,
        bytes: usize,
    ) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            match self.target(name, "dest", own.cast(), bytes, pe) {
                Target::Here(to) => copy_apart(to, from, bytes),
                Target::There(to) => {
                    let link = self.link();
                    link.fabric().put(&link.stream, to, from, bytes);
                }
            }
        }
    }

    /// Copies `n` elements of `elem` bytes to PE `pe`'s copy of `own`, there `to_step` bytes
    /// apart, here as many bytes as the pair says.
    ///
    /// # Safety
    /// All elements are valid on both sides, and do not overlap.
    #[allow(clippy::too_many_arguments)]
    pub(super) unsafe fn copy_strided_to(
        &self,
        name: &str,
        own: *mut u8,
        to_step: usize,
        pe: usize,
        (from, from_step): (*const u8, usize),
        elem: usize,
        n: usize,
    ) {
        if n == 0 {
            return;
        }
        let extent = (n - 1) * to_step + elem;
        // SAFETY: the caller's promise.
        unsafe {
            match self.target(name, "dest", own.cast(), extent, pe) {
                Target::Here(to) => {
                    for i in 0..n {
                        to.add(i * to_step)
                            .copy_from_nonoverlapping(from.add(i * from_step), elem);
                    }
                }
                Target::There(to) => {
                    let link = self.link();
                    let blocks = Blocks {
                        bytes: elem,
                        count: n,
                        local_stride: from_step as isize,
                        remote_stride: to_step as isize,
                    };
                    link.fabric().put_blocks(&link.stream, to, from, blocks);
                }
            }
        }
    }
}

//! Blocks that are some bytes apart, and copies between those of two arrays.

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::offload;
use ferroshmem_core::transport::copy_blocks;
use ferroshmem_fabric::Blocks;

/// Blocks of an array for a neighbour: `shmemx_blocks_t`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Strided {
    /// The first.
    pub addr: *mut u8,
    /// Bytes of each.
    pub bytes: usize,
    /// Their number.
    pub count: usize,
    /// Bytes from the beginning of one to that of the next.
    pub stride: usize,
}

impl Strided {
    /// Bytes in one piece.
    pub fn contiguous(addr: *mut u8, bytes: usize) -> Self {
        Self { addr, bytes, count: 1, stride: bytes }
    }

    /// Checked, and as few blocks as there can be.
    pub(super) fn simple(self, name: &str, argument: &str, i: usize) -> Self {
        let Self { addr, bytes, count, stride } = self;
        let whole = bytes.saturating_mul(count);
        if whole == 0 {
            return Self::contiguous(addr, 0);
        }
        if count > 1 && stride < bytes {
            fatal(
                name,
                format_args!("{argument}[{i}] has blocks of {bytes} bytes at a stride of {stride}: give at least that"),
            );
        }
        if count == 1 || stride == bytes { Self::contiguous(addr, whole) } else { self }
    }

    pub(super) fn whole(&self) -> usize {
        self.bytes * self.count
    }

    /// Bytes from the first to the end of the last.
    pub(super) fn extent(&self) -> usize {
        (self.count - 1).saturating_mul(self.stride).saturating_add(self.bytes)
    }

    /// Calls `copy` with parts of two arrays of as many bytes, which the blocks of both describe: where each begins.
    pub(super) fn to(&self, dest: &Self, mut copy: impl FnMut(usize, usize, &Blocks)) {
        let blocks = |of: &Self, local_stride, remote_stride| Blocks {
            bytes: of.bytes,
            count: of.count,
            local_stride: local_stride as isize,
            remote_stride: remote_stride as isize,
        };
        if (self.bytes, self.count) == (dest.bytes, dest.count) {
            return copy(0, 0, &blocks(self, self.stride, dest.stride));
        }
        match (self.count, dest.count) {
            (_, 1) => copy(0, 0, &blocks(self, self.stride, self.bytes)),
            (1, _) => copy(0, 0, &blocks(dest, dest.bytes, dest.stride)),
            _ => {
                let (mut at, whole) = (0, self.whole());
                while at < whole {
                    let left = |of: &Self| of.bytes - at % of.bytes;
                    let place = |of: &Self| at / of.bytes * of.stride + at % of.bytes;
                    let bytes = left(self).min(left(dest));
                    let piece = Blocks { bytes, count: 1, local_stride: 0, remote_stride: 0 };
                    copy(place(dest), place(self), &piece);
                    at += bytes;
                }
            }
        }
    }

    /// Copies from blocks to as many bytes of others, both mapped here.
    ///
    /// # Safety
    /// All blocks are valid.
    pub(super) unsafe fn copy_to(&self, dest: &Self) {
        // SAFETY: the caller promises that all blocks are valid.
        unsafe {
            if self.count == 1 && dest.count == 1 {
                return match self.bytes {
                    8 => dest.addr.cast::<[u8; 8]>().write(self.addr.cast::<[u8; 8]>().read()),
                    bytes => offload::copy(dest.addr, self.addr, bytes),
                };
            }
            self.to(dest, |to, from, blocks| {
                let (to, from) = (dest.addr.add(to), self.addr.add(from));
                copy_blocks(blocks, (to, blocks.remote_stride), (from, blocks.local_stride));
            });
        }
    }
}

//! Blocks at regular distances: their copies, here and to and from the memory of other PEs.

use std::ffi::c_void;

use ferroshmem_fabric::Blocks;
use ferroshmem_simd as simd;

use super::rma::{Location, complete_loads};
use super::{Call, Transport};
use crate::offload;

/// Where the lowest byte of blocks `stride` bytes apart is, seen from the first, and how many bytes
/// they reach over from there.
fn extent(blocks: &Blocks, stride: isize) -> (isize, usize) {
    let reach = stride * (blocks.count as isize - 1);
    (reach.min(0), reach.unsigned_abs() + blocks.bytes)
}

/// Copies `count` blocks of `N` bytes; the blocks of each side are as many bytes apart as its second
/// part says.
///
/// # Safety
/// All blocks are writable at `dest` and readable at `source`.
#[inline]
unsafe fn copy_each<const N: usize>(count: usize, dest: (*mut u8, isize), source: (*const u8, isize)) {
    let (mut dest, dest_stride) = dest;
    let (mut source, source_stride) = source;
    for _ in 0..count {
        // SAFETY: one block, which the caller promises to be valid on both sides; blocks may overlap.
        unsafe { dest.cast::<[u8; N]>().copy_from(source.cast(), 1) };
        dest = dest.wrapping_offset(dest_stride);
        source = source.wrapping_offset(source_stride);
    }
}

/// Copies blocks of `N` to 2 `N` bytes, by their first and their last `N` bytes, as [`copy_each`] does.
///
/// # Safety
/// As there.
#[inline]
unsafe fn copy_ends<const N: usize>(blocks: &Blocks, dest: (*mut u8, isize), source: (*const u8, isize)) {
    let (mut dest, dest_stride) = dest;
    let (mut source, source_stride) = source;
    let last = blocks.bytes - N;
    for _ in 0..blocks.count {
        // SAFETY: parts of one block, which the caller promises to be valid on both sides; both are read before one is
        // written, as blocks may overlap.
        unsafe {
            let begin = source.cast::<[u8; N]>().read();
            let end = source.add(last).cast::<[u8; N]>().read();
            dest.cast::<[u8; N]>().write(begin);
            dest.add(last).cast::<[u8; N]>().write(end);
        }
        dest = dest.wrapping_offset(dest_stride);
        source = source.wrapping_offset(source_stride);
    }
}

/// Copies blocks between two sides, whose blocks are as many bytes apart as their second parts say, together with
/// idle threads if they are many.
///
/// # Safety
/// All blocks are writable at `dest` and readable at `source`.
pub unsafe fn copy_blocks(blocks: &Blocks, dest: (*mut u8, isize), source: (*const u8, isize)) {
    /// An element of fewer bytes takes as long: it has cache lines of its own on one side, mostly.
    const LEAST: usize = 32;

    let each = blocks.bytes.max(LEAST);
    let is_large = offload::helpers_for(each.saturating_mul(blocks.count)) > 0;
    // Blocks that are large enough are shared one after the other.
    if !is_large || offload::helpers_for(each) > 0 || !are_apart(blocks, dest, source) {
        // SAFETY: the caller promises that all blocks are writable at `dest` and readable at `source`.
        return unsafe { copy_blocks_alone(blocks, dest, source) };
    }
    let from = |i: usize| {
        let to = dest.0.wrapping_offset(dest.1 * i as isize);
        (to, source.0.wrapping_offset(source.1 * i as isize))
    };
    let parts = Shared(from);
    if each > offload::CHUNK {
        let chunks = each.div_ceil(offload::CHUNK);
        return offload::share_units(blocks.count * chunks, offload::CHUNK, &|range| {
            for unit in range {
                let (to, from) = parts.get()(unit / chunks);
                let start = unit % chunks * offload::CHUNK;
                let bytes = offload::CHUNK.min(each - start);
                let (to, from) = (to.wrapping_add(start), from.wrapping_add(start));
                // SAFETY: a part of one of the caller's blocks, which do not overlap.
                unsafe { simd::copy_part(to, from, bytes, each) };
            }
        });
    }
    offload::share_units(blocks.count, each, &|range| {
        let count = range.len();
        let (to, from) = parts.get()(range.start);
        let part = Blocks { count, ..*blocks };
        // SAFETY: some of the caller's blocks, which do not overlap.
        unsafe { copy_blocks_alone(&part, (to, dest.1), (from, source.1)) };
    });
}

/// What threads may share that copy blocks: addresses, of blocks which do not overlap.
struct Shared<T>(T);

// SAFETY: it holds addresses alone; where it is used, the accesses through them are promised to be apart.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// A method, so that closures take the whole of it.
    fn get(&self) -> &T {
        &self.0
    }
}

/// Whether blocks may be copied in any order: no one is written twice, or written and read.
fn are_apart(blocks: &Blocks, dest: (*mut u8, isize), source: (*const u8, isize)) -> bool {
    let range = |at: usize, stride| {
        let (below, bytes) = extent(blocks, stride);
        let start = at.wrapping_add_signed(below);
        start..start.wrapping_add(bytes)
    };
    let (to, from) = (range(dest.0.addr(), dest.1), range(source.0.addr(), source.1));
    dest.1.unsigned_abs() >= blocks.bytes && (to.end <= from.start || from.end <= to.start)
}

/// Copies blocks as [`copy_blocks`], by this thread.
///
/// # Safety
/// As there.
unsafe fn copy_blocks_alone(blocks: &Blocks, dest: (*mut u8, isize), source: (*const u8, isize)) {
    let n = blocks.count;
    // SAFETY: the caller promises that all blocks are valid on both sides.
    unsafe {
        match blocks.bytes {
            // One element of the usual sizes: a load and a store, without a call.
            1 => copy_each::<1>(n, dest, source),
            2 => copy_each::<2>(n, dest, source),
            4 => copy_each::<4>(n, dest, source),
            8 => copy_each::<8>(n, dest, source),
            16 => copy_each::<16>(n, dest, source),
            // Some elements: a call for each block would take twice as long.
            9..16 => copy_ends::<8>(blocks, dest, source),
            17..=32 => copy_ends::<16>(blocks, dest, source),
            33..=64 => copy_ends::<32>(blocks, dest, source),
            bytes => {
                for i in 0..n as isize {
                    let to = dest.0.wrapping_offset(dest.1 * i);
                    offload::copy(to, source.0.wrapping_offset(source.1 * i), bytes);
                }
            }
        }
    }
}

impl Transport {
    /// Copies `blocks` from `source` to PE `call.pe`'s copy of `dest`.
    ///
    /// # Safety
    /// All blocks are readable at `source`.
    pub unsafe fn put_blocks(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, blocks: Blocks) {
        if blocks.count == 0 || blocks.bytes == 0 {
            return;
        }
        match self.locate_blocks(call, "dest", dest, &blocks) {
            // SAFETY: `locate_blocks` has found all blocks of `dest` mapped; the caller promises that
            // those of `source` are readable.
            Location::Local(dest) => unsafe {
                let source = (source.cast(), blocks.local_stride);
                copy_blocks(&blocks, (dest, blocks.remote_stride), source);
            },
            // SAFETY: the caller promises that all blocks of `source` are readable.
            Location::Remote(to) => unsafe { to.fabric.put_blocks(to.context, to.at, source.cast(), blocks) },
        }
    }

    /// Copies `blocks` from PE `call.pe`'s copy of `source` to `dest`.
    ///
    /// # Safety
    /// All blocks are writable at `dest`.
    pub unsafe fn get_blocks(&self, call: &Call<'_>, dest: *mut c_void, source: *const c_void, blocks: Blocks) {
        if blocks.count == 0 || blocks.bytes == 0 {
            return;
        }
        match self.locate_blocks(call, "source", source, &blocks) {
            // SAFETY: `locate_blocks` has found all blocks of `source` mapped; the caller promises that
            // those of `dest` are writable.
            Location::Local(source) => unsafe {
                let source = (source.cast_const(), blocks.remote_stride);
                copy_blocks(&blocks, (dest.cast(), blocks.local_stride), source);
                complete_loads();
            },
            // SAFETY: the caller promises that all blocks of `dest` are writable.
            Location::Remote(from) => unsafe { from.fabric.get_blocks(from.context, dest.cast(), from.at, blocks) },
        }
    }

    /// Where the first of `blocks` is on PE `call.pe`; all of them are symmetric.
    #[inline]
    fn locate_blocks<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        blocks: &Blocks,
    ) -> Location<'a> {
        let (below, bytes) = extent(blocks, blocks.remote_stride);
        match self.locate(call, argument, addr.wrapping_byte_offset(below), bytes) {
            Location::Local(lowest) => Location::Local(lowest.wrapping_offset(-below)),
            Location::Remote(mut lowest) => {
                lowest.at.offset = lowest.at.offset.wrapping_add_signed(-below);
                Location::Remote(lowest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, extent};

    #[test]
    fn extents_of_blocks() {
        let extent = |count, bytes, stride| {
            let blocks = Blocks { bytes, count, local_stride: 0, remote_stride: stride };
            extent(&blocks, stride)
        };
        assert_eq!(extent(4, 8, 24), (0, 80));
        assert_eq!(extent(4, 16, -24), (-72, 88));
        assert_eq!(extent(1, 20, 400), (0, 20));
    }
}

//! The symmetric heap's allocator.
//!
//! Every PE runs the same calls in the same order, so each keeps its own
//! metadata and all come to the same addresses without a message exchanged. The metadata is outside the
//! heap: heap memory that was never handed out is never touched.

use std::collections::BTreeMap;

use range_alloc::RangeAllocator;

/// Alignment of every block, which suits any C type and keeps blocks of different PEs'
/// writers on different cache lines.
pub(crate) const BLOCK_ALIGN: u64 = 64;

/// The allocator's metadata of one heap; addresses are offsets from its start, in bytes.
#[derive(Debug)]
pub struct Heap {
    free: RangeAllocator<u64>,
    size: u64,
    /// Live blocks: offset to (bytes asked for, bytes taken).
    blocks: BTreeMap<u64, Block>,
    in_use: u64,
    /// The end of the highest block ever handed out: beyond it, the memory is as the system gave it.
    mark: u64,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    asked: u64,
    taken: u64,
}

impl Heap {
    /// An empty heap of `size` bytes, of which the first `mark` may have been written.
    pub fn new(size: u64, mark: u64) -> Self {
        let size = size / BLOCK_ALIGN * BLOCK_ALIGN;
        Self {
            free: RangeAllocator::new(0..size),
            size,
            blocks: BTreeMap::new(),
            in_use: 0,
            mark,
        }
    }

    /// Takes `size` bytes at a multiple of `align` (a power of two). None if no free range
    /// is long enough.
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        let taken = size.max(1).checked_next_multiple_of(BLOCK_ALIGN)?;
        let align = align.max(BLOCK_ALIGN);
        let with_slack = taken.checked_add(align - BLOCK_ALIGN)?;
        if with_slack > self.size {
            return None;
        }
        let range = self.free.allocate_range(with_slack).ok()?;
        let start = range.start.next_multiple_of(align);
        if start > range.start {
            self.free.free_range(range.start..start);
        }
        if start + taken < range.end {
            self.free.free_range(start + taken..range.end);
        }
        self.blocks.insert(start, Block { asked: size, taken });
        self.in_use += taken;
        self.mark = self.mark.max(start + taken);
        Some(start)
    }

    /// Gives the block at `offset` back; false if no block starts there.
    pub fn release(&mut self, offset: u64) -> bool {
        let Some(block) = self.blocks.remove(&offset) else {
            return false;
        };
        self.free.free_range(offset..offset + block.taken);
        self.in_use -= block.taken;
        true
    }

    /// Bytes asked for of the block at `offset`.
    pub fn block_size(&self, offset: u64) -> Option<u64> {
        self.blocks.get(&offset).map(|b| b.asked)
    }

    /// Changes the size of a block without moving it, if it fits what the block has taken.
    pub fn resize_in_place(&mut self, offset: u64, size: u64) -> bool {
        match self.blocks.get_mut(&offset) {
            Some(b) if size <= b.taken && size > b.taken / 2 => {
                b.asked = size;
                true
            }
            _ => false,
        }
    }

    /// The live block that `offset` lies in: its start and the bytes asked for.
    pub fn block_around(&self, offset: u64) -> Option<(u64, u64)> {
        let (start, block) = self.blocks.range(..=offset).next_back()?;
        (offset - start < block.taken).then_some((*start, block.asked))
    }

    /// Bytes not in any block.
    pub fn free_bytes(&self) -> u64 {
        self.size - self.in_use
    }

    /// Bytes from the heap's start that were ever in a block: all others are zero.
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// Number of live blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_apart() {
        let mut h = Heap::new(1 << 20, 0);
        let a = h.allocate(1, 8).unwrap();
        let b = h.allocate(100, 4096).unwrap();
        let c = h.allocate(64, 64).unwrap();
        assert_eq!(b % 4096, 0);
        assert!([a, b, c].iter().all(|x| x % BLOCK_ALIGN == 0));
        assert!(c >= a + 64 || a >= c + 64);
        assert_eq!(h.free_bytes(), (1 << 20) - 64 - 128 - 64);
    }

    #[test]
    fn everything_comes_back() {
        let mut h = Heap::new(1 << 16, 0);
        let all: Vec<u64> = (0..)
            .map_while(|i| h.allocate(i % 700 + 1, 1 << (i % 12)))
            .collect();
        assert!(all.len() > 20);
        for (i, offset) in all.iter().enumerate().filter(|(i, _)| i % 2 == 0) {
            assert!(h.release(*offset), "{i}");
        }
        for (_, offset) in all.iter().enumerate().filter(|(i, _)| i % 2 == 1) {
            assert!(h.release(*offset));
        }
        assert_eq!(h.free_bytes(), 1 << 16);
        assert_eq!(h.allocate(1 << 16, 8), Some(0));
    }

    #[test]
    fn misuse_is_noticed() {
        let mut h = Heap::new(4096, 0);
        let a = h.allocate(100, 8).unwrap();
        assert!(!h.release(a + 64));
        assert!(h.release(a));
        assert!(!h.release(a));
        assert_eq!(h.allocate(4097, 8), None);
        assert_eq!(h.allocate(u64::MAX, 8), None);
        assert_eq!(Heap::new(0, 0).allocate(1, 8), None);
    }

    #[test]
    fn the_mark_is_the_end_of_the_highest_block() {
        let mut h = Heap::new(1 << 16, 0);
        assert_eq!(h.mark(), 0);
        let a = h.allocate(100, 8).unwrap();
        let b = h.allocate(100, 1 << 12).unwrap();
        assert_eq!(h.mark(), b + 128);
        assert!(h.release(a) && h.release(b));
        h.allocate(1, 8).unwrap();
        assert_eq!(h.mark(), b + 128);
        assert_eq!(Heap::new(1 << 16, 4096).mark(), 4096);
    }

    #[test]
    fn a_block_is_found_from_inside() {
        let mut h = Heap::new(4096, 0);
        let a = h.allocate(100, 8).unwrap();
        assert_eq!(h.block_around(a + 99), Some((a, 100)));
        assert_eq!(h.block_around(a + 128), None);
    }
}

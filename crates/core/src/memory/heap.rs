//! The symmetric heap's allocator.
//!
//! Every PE runs the same calls in the same order, so each keeps its own
//! metadata and all come to the same addresses without a message exchanged. The metadata is outside the
//! heap: heap memory that was never handed out is never touched.

use std::collections::BTreeMap;
use std::ops::Range;

use range_alloc::RangeAllocator;

use super::memkind::Memkind;

/// Alignment of every block, which suits any C type and keeps blocks of different PEs'
/// writers on different cache lines.
pub const BLOCK_ALIGN: u64 = 64;

/// The allocator's metadata of the heap, or of a symmetric space; addresses are offsets from the heap's start, in
/// bytes.
#[derive(Debug)]
pub struct Heap {
    free: RangeAllocator<u64>,
    size: u64,
    /// Nothing is handed out from here on: a team has a space there, of which other PEs do not know.
    ceiling: u64,
    /// Whether the last block that found no room would have found it above the ceiling.
    is_low: bool,
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
    unit: u64,
    /// If it has one of its own.
    kind: Option<Memkind>,
}

impl Heap {
    /// An empty heap of `size` bytes, of which the first `mark` may have been written.
    pub fn new(size: u64, mark: u64) -> Self {
        let size = size / BLOCK_ALIGN * BLOCK_ALIGN;
        Self::within(0..size, mark)
    }

    /// As [`new`](Self::new), in `range` of the heap.
    pub fn within(range: Range<u64>, mark: u64) -> Self {
        Self {
            size: range.end - range.start,
            ceiling: u64::MAX,
            is_low: false,
            free: RangeAllocator::new(range),
            blocks: BTreeMap::new(),
            in_use: 0,
            mark,
        }
    }

    /// As words, for a process that is to have the same blocks.
    pub fn to_words(&self) -> Vec<u64> {
        let blocks = self.blocks.iter();
        let blocks = blocks.flat_map(|(start, block)| [*start, block.asked, block.taken, block.unit]);
        [self.mark, self.ceiling].into_iter().chain(blocks).collect()
    }

    /// Has the blocks of [`to_words`](Self::to_words), in an empty heap.
    pub fn take_words(&mut self, words: &[u64]) {
        let Some(([mark, ceiling], blocks)) = words.split_first_chunk() else { return };
        (self.mark, self.ceiling) = (*mark, *ceiling);
        // All is taken, and what lies between the blocks given back.
        let (all, mut end) = (self.size, 0);
        let _ = self.free.allocate_range(all);
        for block in blocks.as_chunks().0 {
            let [start, asked, taken, unit] = *block;
            if end < start {
                self.free.free_range(end..start);
            }
            end = start + taken;
            self.blocks.insert(start, Block { asked, taken, unit, kind: None });
            self.in_use += taken;
        }
        if end < all {
            self.free.free_range(end..all);
        }
    }

    /// Takes `size` bytes at a multiple of `align` (a power of two). None if no free range
    /// is long enough.
    pub fn allocate(&mut self, size: u64, align: u64) -> Option<u64> {
        self.allocate_units(size, align, BLOCK_ALIGN)
    }

    /// As [`allocate`](Self::allocate), of so many bytes in units of `unit` (a power of two, from [`BLOCK_ALIGN`] on)
    /// that no unit is shared with another block if the alignment is as large.
    pub fn allocate_units(&mut self, size: u64, align: u64, unit: u64) -> Option<u64> {
        self.is_low = false;
        let taken = size.max(1).checked_next_multiple_of(unit)?;
        let align = align.max(BLOCK_ALIGN);
        // An offset is a multiple of what the address is: the heap begins at one of a power of two that is not less
        // than its size.
        if taken.max(align) > self.size {
            return None;
        }
        let start = self.free.allocate_range_aligned(taken, align).ok()?.start;
        if start + taken > self.ceiling {
            self.free.free_range(start..start + taken);
            self.is_low = true;
            return None;
        }
        let block = Block { asked: size, taken, unit, kind: None };
        self.blocks.insert(start, block);
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

    /// Notes that the block at `offset` has a kind of memory of its own.
    pub fn set_placed(&mut self, offset: u64, kind: Memkind) {
        if let Some(block) = self.blocks.get_mut(&offset) {
            block.kind = Some(kind);
        }
    }

    /// What a block that takes the place of the one at `offset` is to have: units, and a kind of memory of its own.
    pub fn hints(&self, offset: u64) -> Option<(u64, Option<Memkind>)> {
        self.blocks.get(&offset).map(|b| (b.unit, b.kind))
    }

    /// The bytes of the block at `offset`, if it has a kind of memory of its own.
    pub fn placed(&self, offset: u64) -> Option<Range<u64>> {
        let block = self.blocks.get(&offset).filter(|block| block.kind.is_some())?;
        Some(offset..offset + block.taken)
    }

    /// Whether a block has a kind of memory of its own.
    pub fn has_placed(&self) -> bool {
        self.blocks.values().any(|block| block.kind.is_some())
    }

    /// Has nothing handed out from `ceiling` on.
    pub fn set_ceiling(&mut self, ceiling: u64) {
        self.ceiling = ceiling;
    }

    /// Whether the block that has just found no room would have found it but for the ceiling.
    pub fn is_low(&self) -> bool {
        self.is_low
    }

    /// The end of the last live block.
    pub fn end(&self) -> u64 {
        self.blocks.last_key_value().map_or(0, |(start, block)| start + block.taken)
    }

    /// Changes the size of a block without moving it, if it fits what the block has taken: the bytes that it gives
    /// back. A block that keeps more than half keeps all, so that it can grow again.
    pub fn resize_in_place(&mut self, offset: u64, size: u64) -> Option<Range<u64>> {
        let block = self.blocks.get_mut(&offset).filter(|b| size <= b.taken)?;
        let end = offset + block.taken;
        block.asked = size;
        if size <= block.taken / 2 {
            block.taken = size.max(1).next_multiple_of(block.unit);
        }
        let rest = offset + block.taken..end;
        self.in_use -= rest.end - rest.start;
        if !rest.is_empty() {
            self.free.free_range(rest.clone());
        }
        Some(rest)
    }

    /// The live block that `offset` lies in: its start and the bytes asked for.
    pub fn block_around(&self, offset: u64) -> Option<(u64, u64)> {
        let (start, block) = self.blocks.range(..=offset).next_back()?;
        (offset - start < block.taken).then_some((*start, block.asked))
    }

    /// All bytes.
    pub fn size(&self) -> u64 {
        self.size
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
    fn aligned_blocks_need_no_more_room_than_they_take() {
        let mut h = Heap::new(1 << 16, 0);
        assert_eq!(h.allocate(1 << 16, 1 << 16), Some(0));
        assert!(h.release(0));
        let a = h.allocate(1, 8).unwrap();
        assert_eq!(h.allocate(1 << 15, 1 << 15), Some(1 << 15));
        assert_eq!(h.allocate((1 << 15) - 64, 8), Some(a + 64));
        assert_eq!(h.allocate(1, 1 << 63), None);
    }

    #[test]
    fn everything_comes_back() {
        let mut h = Heap::new(1 << 16, 0);
        let all: Vec<u64> = (0..).map_while(|i| h.allocate(i % 700 + 1, 1 << (i % 12))).collect();
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
    fn blocks_are_taken_over() {
        let mut h = Heap::new(1 << 16, 0);
        let all: Vec<u64> = (0..60).map(|i| h.allocate(i * 7 % 300, 1 << (i % 10)).unwrap()).collect();
        for offset in all.iter().step_by(3) {
            assert!(h.release(*offset));
        }
        h.set_ceiling(1 << 15);
        let mut other = Heap::new(1 << 16, 0);
        other.take_words(&h.to_words());
        assert_eq!((other.mark(), other.free_bytes(), other.end()), (h.mark(), h.free_bytes(), h.end()));
        for i in 0..100 {
            assert_eq!(other.allocate(i * 11 % 500, 1 << (i % 9)), h.allocate(i * 11 % 500, 1 << (i % 9)), "{i}");
        }
        assert!(all.iter().skip(1).step_by(3).all(|offset| h.release(*offset) && other.release(*offset)));
        assert_eq!(other.free_bytes(), h.free_bytes());
        let mut empty = Heap::new(1 << 16, 0);
        empty.take_words(&Heap::new(1 << 16, 0).to_words());
        assert_eq!(empty.allocate(1 << 16, 8), Some(0));
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
    fn units_are_not_shared() {
        let mut h = Heap::within(4096..1 << 16, 4096);
        let a = h.allocate_units(8, 256, 256).unwrap();
        let b = h.allocate(8, 8).unwrap();
        assert_eq!(a % 256, 0);
        assert!(a >= 4096 && b >= 4096 && (b >= a + 256 || b < a));
        assert_eq!((h.block_size(a), h.placed(a)), (Some(8), None));
        h.set_placed(a, Memkind::Local);
        assert_eq!(h.placed(a), Some(a..a + 256));
        assert_eq!([a, b].map(|x| h.hints(x)), [Some((256, Some(Memkind::Local))), Some((BLOCK_ALIGN, None))]);
    }

    #[test]
    fn nothing_is_handed_out_above_the_ceiling() {
        let mut h = Heap::new(1 << 16, 0);
        let a = h.allocate(4096, 8).unwrap();
        assert_eq!(h.end(), a + 4096);
        h.set_ceiling(8192);
        assert_eq!(h.allocate(8192, 8), None);
        assert!(h.is_low());
        assert_eq!(h.allocate(1 << 16, 8), None);
        assert!(!h.is_low());
        assert_eq!(h.allocate(4096, 8), Some(a + 4096));
        h.set_ceiling(u64::MAX);
        assert!(h.allocate(8192, 8).is_some());
    }

    #[test]
    fn a_block_shrinks_where_it_is() {
        let mut h = Heap::new(1 << 16, 0);
        let a = h.allocate_units(1 << 14, 256, 256).unwrap();
        let b = h.allocate(64, 8).unwrap();
        assert_eq!(h.resize_in_place(a, (1 << 14) + 1), None);
        let end = a + (1 << 14);
        assert_eq!(h.resize_in_place(a, (1 << 13) + 1), Some(end..end));
        assert_eq!(h.resize_in_place(a, 1 << 14), Some(end..end));
        assert_eq!(h.resize_in_place(a, 300), Some(a + 512..end));
        assert_eq!((h.block_size(a), h.block_around(a + 512)), (Some(300), None));
        assert_eq!(h.free_bytes(), (1 << 16) - 512 - 64);
        assert_eq!(h.allocate((1 << 14) - 512, 8), Some(a + 512));
        assert!(h.release(a) && h.release(a + 512) && h.release(b));
        assert_eq!(h.allocate(1 << 16, 8), Some(0));
    }

    #[test]
    fn a_block_is_found_from_inside() {
        let mut h = Heap::new(4096, 0);
        let a = h.allocate(100, 8).unwrap();
        assert_eq!(h.block_around(a + 99), Some((a, 100)));
        assert_eq!(h.block_around(a + 128), None);
    }
}

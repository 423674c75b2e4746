//! The blocks of the symmetric heap, as this PE has allocated them. Calls that allocate are collective, so other PEs
//! have the same blocks at the same addresses.

use std::collections::{BTreeMap, VecDeque};

use crate::hidden::Hidden;

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Bytes that the program has asked for.
    pub size: usize,
    /// Bytes behind them that no PE may write.
    pub red_zone: usize,
    /// Bytes from its start that were filled when it was allocated.
    pub filled: usize,
    /// The call that allocated it.
    pub site: u32,
    /// The calls that led there, as one number.
    pub stack: u64,
    /// The symmetric space that it is in, if it is in one.
    pub space: Option<usize>,
    /// The call that freed it.
    pub freed: Option<u32>,
}

/// What is wrong with an access of a block, or beside one. Each has the block's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Violation {
    /// So many of its bytes are behind the block's end.
    PastEnd(usize, Block, usize),
    /// It begins in what the library has around blocks, and the nearest block is behind it.
    BeforeStart(usize, Block),
    /// The block was freed.
    AfterFree(usize, Block),
    /// No block is there.
    Outside,
}

/// Blocks in quarantine, and their bytes.
const QUARANTINED: usize = 64;
const QUARANTINED_BYTES: usize = 8 << 20;

/// How far before a block an access is one of this block.
const BEFORE: usize = 64;

/// The blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: BTreeMap<Hidden, Block>,
    /// Those that were freed and that the library has not got back, so that no other block gets their memory: the
    /// oldest first.
    quarantine: VecDeque<Hidden>,
    quarantined_bytes: usize,
}

impl Blocks {
    /// Adds a block, in place of what the library has given back there by itself.
    pub(super) fn insert(&mut self, at: usize, block: Block) {
        self.all.insert(Hidden::of(at), block);
    }

    /// The block that begins here.
    pub(super) fn get(&self, at: usize) -> Option<Block> {
        self.all.get(&Hidden::of(at)).copied()
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Block> {
        self.all.remove(&Hidden::of(at))
    }

    /// Forgets the blocks of a space.
    pub(super) fn remove_space(&mut self, space: usize) {
        self.all.retain(|_, block| block.space != Some(space));
    }

    /// The last block that begins at an address or before.
    fn before(&self, at: usize) -> Option<(usize, Block)> {
        let (start, block) = self.all.range(..=Hidden::of(at)).next_back()?;
        Some((start.address(), *block))
    }

    /// The block that an address is in, with its start.
    pub(super) fn around(&self, at: usize) -> Option<(usize, Block)> {
        let (start, block) = self.before(at)?;
        (at - start < block.size).then_some((start, block))
    }

    /// Puts a block in quarantine that the call `site` frees.
    pub(super) fn quarantine(&mut self, at: usize, site: u32) {
        let start = Hidden::of(at);
        if let Some(block) = self.all.get_mut(&start) {
            block.freed = Some(site);
            self.quarantine.push_back(start);
            self.quarantined_bytes += block.size + block.red_zone;
        }
    }

    /// Takes a block out of quarantine, as if it had not been freed.
    pub(super) fn restore(&mut self, at: usize) {
        let start = Hidden::of(at);
        self.quarantine.retain(|other| *other != start);
        if let Some(block) = self.all.get_mut(&start)
            && block.freed.take().is_some()
        {
            self.quarantined_bytes -= block.size + block.red_zone;
        }
    }

    /// Removes the oldest block in quarantine, if there are too many, or `all` are to go.
    pub(super) fn evict(&mut self, all: bool) -> Option<(usize, Block)> {
        let is_full = self.quarantine.len() > QUARANTINED || self.quarantined_bytes > QUARANTINED_BYTES;
        if !all && !is_full {
            return None;
        }
        let at = self.quarantine.pop_front()?.address();
        let block = self.remove(at)?;
        self.quarantined_bytes -= block.size + block.red_zone;
        Some((at, block))
    }

    /// What is wrong with an access of `len` bytes at a symmetric address of the heap.
    pub(super) fn violation(&self, at: usize, len: usize) -> Option<Violation> {
        if let Some((start, block)) = self.before(at) {
            let offset = at - start;
            if offset < block.size {
                if block.freed.is_some() {
                    return Some(Violation::AfterFree(start, block));
                }
                let room = block.size - offset;
                return (len > room).then(|| Violation::PastEnd(start, block, len - room));
            }
            if offset < block.size + block.red_zone {
                return Some(Violation::PastEnd(start, block, len));
            }
        }
        let after = self.all.range(Hidden::of(at)..).next();
        let after = after.map(|(start, block)| (start.address(), *block));
        if let Some((start, block)) = after.filter(|(start, _)| start - at <= BEFORE) {
            return Some(Violation::BeforeStart(start, block));
        }
        Some(Violation::Outside)
    }

    /// All blocks that are not freed.
    pub(super) fn live(&self) -> impl Iterator<Item = (Hidden, Block)> {
        let live = self.all.iter().filter(|(_, block)| block.freed.is_none());
        live.map(|(start, block)| (*start, *block))
    }

    /// Those in quarantine.
    pub(super) fn freed(&self) -> impl Iterator<Item = (Hidden, Block)> {
        let freed = self.all.iter().filter(|(_, block)| block.freed.is_some());
        freed.map(|(start, block)| (*start, *block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Block = Block { size: 100, red_zone: 64, filled: 100, site: 1, stack: 2, space: None, freed: None };

    #[test]
    fn accesses_are_within_blocks() {
        let mut blocks = Blocks::default();
        blocks.insert(4096, BLOCK);
        assert_eq!(blocks.violation(4096, 100), None);
        assert_eq!(blocks.violation(4190, 6), None);
        let past = |bytes| Some(Violation::PastEnd(4096, BLOCK, bytes));
        assert_eq!(blocks.violation(4190, 10), past(4));
        assert_eq!(blocks.violation(4196, 8), past(8));
        let before = Violation::BeforeStart(4096, BLOCK);
        assert_eq!(blocks.violation(4088, 8), Some(before));
        assert_eq!(blocks.violation(2048, 8), Some(Violation::Outside));
        assert_eq!(blocks.violation(4096 + 164, 8), Some(Violation::Outside));
    }

    #[test]
    fn a_freed_block_is_in_quarantine_for_a_while() {
        let mut blocks = Blocks::default();
        for i in 0..QUARANTINED + 2 {
            blocks.insert(4096 * (i + 1), BLOCK);
        }
        blocks.quarantine(4096, 7);
        let Some(Violation::AfterFree(4096, block)) = blocks.violation(4100, 4) else {
            panic!("{:?}", blocks.violation(4100, 4));
        };
        assert_eq!(block.freed, Some(7));
        assert_eq!(blocks.evict(false), None);
        for i in 1..=QUARANTINED {
            blocks.quarantine(4096 * (i + 1), 7);
        }
        assert_eq!(blocks.evict(false).map(|(at, _)| at), Some(4096));
        assert_eq!(blocks.evict(false), None);
        assert_eq!(blocks.evict(true).map(|(at, _)| at), Some(8192));
        assert_eq!(blocks.live().count(), 1);
    }

    #[test]
    fn a_block_that_is_restored_is_not_given_back() {
        let mut blocks = Blocks::default();
        blocks.insert(4096, BLOCK);
        blocks.insert(8192, BLOCK);
        blocks.quarantine(4096, 7);
        blocks.quarantine(8192, 7);
        blocks.restore(4096);
        assert_eq!(blocks.violation(4096, 100), None);
        assert_eq!(blocks.evict(true).map(|(at, _)| at), Some(8192));
        assert_eq!(blocks.evict(true), None);
        assert_eq!(blocks.quarantined_bytes, 0);
    }
}

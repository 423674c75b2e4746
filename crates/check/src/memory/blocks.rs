//! The blocks of the symmetric heap, as this PE has allocated them. Calls that allocate are collective, so other PEs have the
//! same blocks at the same addresses.

use std::collections::{BTreeMap, VecDeque};

use super::reach::hidden;

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    /// Bytes that the program has asked for.
    pub size: usize,
    /// Bytes behind them that nobody may write.
    pub zone: usize,
    /// Bytes from its start that were filled when it was allocated.
    pub filled: usize,
    /// The call that allocated it, and the calls that led there.
    pub site: u32,
    pub stack: u64,
    /// The symmetric space that it is in, if it is in one.
    pub space: Option<usize>,
    /// The call that gave it back.
    pub freed: Option<u32>,
}

/// What is wrong with an access of a block, or beside one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It begins so many bytes from the block's start, and so many of its bytes are behind the end.
    PastEnd(usize, Block, usize),
    /// It begins in what the library has around blocks: the nearest one is behind it.
    BeforeStart(usize, Block),
    /// The block was given back.
    Freed(usize, Block),
    /// No block is there.
    Outside,
}

/// Blocks that were given back are kept for a while, so that nobody else gets their memory: so many, and so many bytes.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 8 << 20;

/// How far before a block an access is one of this block.
const BEFORE: usize = 64;

/// The blocks, by numbers that stand for their addresses ([`hidden`]).
#[derive(Debug, Default)]
pub(super) struct Blocks {
    all: BTreeMap<usize, Block>,
    /// The blocks that were given back, from the oldest one on.
    kept: VecDeque<usize>,
    kept_bytes: usize,
}

impl Blocks {
    pub(super) fn insert(&mut self, at: usize, block: Block) {
        // The library may have ended a space, or others may have allocated.
        self.all.insert(hidden(at), block);
    }

    /// The block that begins here.
    pub(super) fn get(&self, at: usize) -> Option<Block> {
        self.all.get(&hidden(at)).copied()
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Block> {
        self.all.remove(&hidden(at))
    }

    /// Forgets the blocks of a space.
    pub(super) fn remove_space(&mut self, space: usize) {
        self.all.retain(|_, block| block.space != Some(space));
    }

    /// The last block that begins at an address or before.
    fn before(&self, at: usize) -> Option<(usize, Block)> {
        let (start, block) = self.all.range(..=hidden(at)).next_back()?;
        Some((start - hidden(0), *block))
    }

    /// The block that an address is in: its start.
    pub(super) fn around(&self, at: usize) -> Option<(usize, Block)> {
        let (start, block) = self.before(at)?;
        (at - start < block.size).then_some((start, block))
    }

    /// Keeps a block that the call `site` gives back.
    pub(super) fn keep(&mut self, at: usize, site: u32) {
        if let Some(block) = self.all.get_mut(&hidden(at)) {
            block.freed = Some(site);
            self.kept.push_back(hidden(at));
            self.kept_bytes += block.size + block.zone;
        }
    }

    /// The oldest block that is kept, if too many are, or if all are wanted.
    pub(super) fn let_go(&mut self, all: bool) -> Option<(usize, Block)> {
        if !all && self.kept.len() <= KEPT && self.kept_bytes <= KEPT_BYTES {
            return None;
        }
        let at = self.kept.pop_front()? - hidden(0);
        let block = self.remove(at)?;
        self.kept_bytes -= block.size + block.zone;
        Some((at, block))
    }

    /// What is wrong with an access of `len` bytes at a symmetric address of the heap.
    pub(super) fn wrong(&self, at: usize, len: usize) -> Option<Wrong> {
        if let Some((start, block)) = self.before(at) {
            let offset = at - start;
            if offset < block.size {
                if block.freed.is_some() {
                    return Some(Wrong::Freed(start, block));
                }
                let room = block.size - offset;
                return (len > room).then(|| Wrong::PastEnd(start, block, len - room));
            }
            if offset < block.size + block.zone {
                return Some(Wrong::PastEnd(start, block, len));
            }
        }
        let after = self.all.range(hidden(at)..).next();
        let after = after.map(|(start, block)| (start - hidden(0), *block));
        if let Some((start, block)) = after.filter(|(start, _)| start - at <= BEFORE) {
            return Some(Wrong::BeforeStart(start, block));
        }
        Some(Wrong::Outside)
    }

    /// All blocks that are not given back.
    pub(super) fn live(&self) -> impl Iterator<Item = (usize, Block)> {
        let live = self.all.iter().filter(|(_, block)| block.freed.is_none());
        live.map(|(at, block)| (at - hidden(0), *block))
    }

    /// Those that are kept.
    pub(super) fn freed(&self) -> impl Iterator<Item = (usize, Block)> {
        let freed = self.all.iter().filter(|(_, block)| block.freed.is_some());
        freed.map(|(at, block)| (at - hidden(0), *block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Block = Block {
        size: 100,
        zone: 64,
        filled: 100,
        site: 1,
        stack: 2,
        space: None,
        freed: None,
    };

    #[test]
    fn accesses_are_within_blocks() {
        let mut blocks = Blocks::default();
        blocks.insert(4096, BLOCK);
        assert_eq!(blocks.wrong(4096, 100), None);
        assert_eq!(blocks.wrong(4190, 6), None);
        let past = |bytes| Some(Wrong::PastEnd(4096, BLOCK, bytes));
        assert_eq!(blocks.wrong(4190, 10), past(4));
        assert_eq!(blocks.wrong(4196, 8), past(8));
        assert_eq!(blocks.wrong(4088, 8), Some(Wrong::BeforeStart(4096, BLOCK)));
        assert_eq!(blocks.wrong(2048, 8), Some(Wrong::Outside));
        assert_eq!(blocks.wrong(4096 + 164, 8), Some(Wrong::Outside));
    }

    #[test]
    fn a_block_is_kept_after_it_was_given_back() {
        let mut blocks = Blocks::default();
        for i in 0..KEPT + 2 {
            blocks.insert(4096 * (i + 1), BLOCK);
        }
        blocks.keep(4096, 7);
        let Some(Wrong::Freed(4096, block)) = blocks.wrong(4100, 4) else {
            panic!("{:?}", blocks.wrong(4100, 4));
        };
        assert_eq!(block.freed, Some(7));
        assert_eq!(blocks.let_go(false), None);
        for i in 1..=KEPT {
            blocks.keep(4096 * (i + 1), 7);
        }
        assert_eq!(blocks.let_go(false).map(|(at, _)| at), Some(4096));
        assert_eq!(blocks.let_go(false), None);
        assert_eq!(blocks.let_go(true).map(|(at, _)| at), Some(8192));
        assert_eq!(blocks.live().count(), 1);
    }
}

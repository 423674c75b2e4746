//! Which blocks a pointer leads to that the program still has: words of its variables, its heap, its stack and its
//! blocks.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use ferroshmem_platform::maps::Mapping;

use crate::hidden::Hidden;
use crate::own_memory::OwnMemory;

/// Bytes that are searched at most: a second for about 4 GiB.
const SEARCHED: usize = 4 << 30;

/// The program's private memory that can be written: heaps, stacks, and variables of libraries. `stack` is in the frame
/// of the function that it has called; what is below is no longer in use.
fn private(stack: usize) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    Mapping::each(|mapping| {
        if mapping.is_private_data() {
            let mut range = mapping.range;
            if range.contains(&stack) {
                range.start = stack;
            }
            all.push(range);
        }
    });
    all
}

/// Those of the blocks, given with their sizes, that no word of the program's memory leads to: to their first byte or
/// another. `others` is memory beside the private one, made as it is asked for: kept, its addresses would be pointers.
/// None are, where not all of it can be searched.
pub(super) fn unreachable(
    blocks: &[(Hidden, usize)],
    others: impl Iterator<Item = Range<usize>> + Clone,
    stack: usize,
) -> HashSet<Hidden> {
    let mut left: BTreeMap<Hidden, usize> = blocks.iter().copied().collect();
    let first = left.first_key_value().map(|(start, _)| *start);
    let last = left.last_key_value();
    let end = last.map(|(start, size)| start.plus(*size));
    let (Some(first), Some(end), Ok(mut memory)) = (first, end, OwnMemory::open()) else {
        return HashSet::new();
    };
    let private = private(stack);
    let ranges = || private.iter().cloned().chain(others.clone());
    let bytes = ranges().fold(0, |all: usize, range| all.saturating_add(range.len()));
    if bytes > SEARCHED {
        return HashSet::new();
    }
    for range in ranges() {
        memory.each_word(range, |word| {
            let word = Hidden::of_word(word).filter(|word| (first..end).contains(word));
            let Some(word) = word else { return };
            if let Some((&start, &size)) = left.range(..=word).next_back()
                && word.offset_from(start) < size
            {
                left.remove(&start);
            }
        });
    }
    left.into_keys().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks, of 64 bytes, that no word leads to.
    fn left(blocks: &[Hidden]) -> HashSet<Hidden> {
        let blocks: Vec<_> = blocks.iter().map(|start| (*start, 64)).collect();
        let here = 0_u8;
        unreachable(&blocks, std::iter::empty(), (&raw const here).addr())
    }

    #[test]
    fn a_block_is_reached_by_a_pointer_to_any_of_its_bytes() {
        const BLOCK: usize = 0x7000_1234_5000;
        // Constants, so that the stack has no such address but those of `kept`.
        const BLOCKS: [Hidden; 4] =
            [Hidden::of(BLOCK), Hidden::of(BLOCK + 0x1000), Hidden::of(BLOCK + 0x2000), Hidden::of(BLOCK + 0x3000)];
        let [first, second, third, fourth] = BLOCKS;
        let kept = Box::new([BLOCK, BLOCK + 0x1000 + 63, BLOCK + 0x2000 + 64]);
        std::hint::black_box(&kept);
        assert!(left(&[first]).is_empty());
        assert!(left(&[second]).is_empty());
        assert_eq!(left(&[third, fourth]), [third, fourth].into());
        std::hint::black_box(&kept);
    }
}

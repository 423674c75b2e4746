//! Which blocks a pointer leads to that the program still has: words of its variables, its heap, its stack and its blocks.

use std::collections::HashSet;
use std::ops::Range;

/// Bytes of a mapping, and of all, that are looked at.
const MAPPING: usize = 1 << 30;
const ALL: usize = 4 << 30;

/// A number that stands for an address where these checks keep it, so that they are not taken for the program.
pub(super) fn hidden(at: usize) -> usize {
    at + 1
}

/// The program's private memory that can be written: heaps, stacks, and variables of libraries. `stack` is in the frame of the
/// function that it has called; what is below is no longer in use.
fn private(stack: usize) -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let range = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let (start, end) = (number(start)?, number(end)?);
        let start = if (start..end).contains(&stack) {
            stack
        } else {
            start
        };
        (rest.starts_with("rw-p") && end - start <= MAPPING).then_some(start..end)
    };
    maps.lines().filter_map(range).collect()
}

/// Those of the blocks, given by [`hidden`] numbers, that no word of the program's memory leads to. `others` is memory beside the
/// private one.
pub(super) fn unreachable(
    blocks: &[usize],
    others: impl Iterator<Item = Range<usize>>,
    stack: usize,
) -> HashSet<usize> {
    let mut left: HashSet<usize> = blocks.iter().copied().collect();
    let (Some(low), Some(high)) = (blocks.iter().min(), blocks.iter().max()) else {
        return left;
    };
    let wanted = *low..=*high;
    let mut budget = ALL;
    for range in private(stack).into_iter().chain(others) {
        budget = budget.saturating_sub(range.len());
        if budget == 0 {
            break;
        }
        let start = range.start.next_multiple_of(size_of::<usize>());
        for at in
            (start..range.end.saturating_sub(size_of::<usize>() - 1)).step_by(size_of::<usize>())
        {
            // SAFETY: the memory is mapped and readable; other threads may write it, whatever they do.
            let word = unsafe { (at as *const usize).read_volatile() };
            let hidden = hidden(word & (usize::MAX >> 1));
            if wanted.contains(&hidden) {
                left.remove(&hidden);
            }
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_reached_by_a_word_of_memory() {
        let kept = Box::new([0x7000_1234_5000_usize]);
        std::hint::black_box(&kept);
        let blocks = [hidden(kept[0])];
        let here = 0_u8;
        let left = unreachable(&blocks, std::iter::empty(), (&raw const here).addr());
        assert!(left.is_empty());
    }
}

//! Which blocks a pointer leads to that the program still has: words of its variables, its heap, its stack and its blocks.

use std::collections::HashSet;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes of a mapping, and of all, that are looked at.
const MAPPING: usize = 1 << 30;
const ALL: usize = 4 << 30;
/// Bytes that are read at once, and those of a page: none of them or all can be read.
const CHUNK: usize = 64 << 10;
const PAGE: usize = 4096;

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
/// private one. None, where the process may not read its memory by the kernel.
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
    // By the kernel, since other threads may unmap memory meanwhile.
    let Ok(memory) = File::open("/proc/self/mem") else {
        return HashSet::new();
    };
    let mut budget = ALL;
    for range in private(stack).into_iter().chain(others) {
        budget = budget.saturating_sub(range.len());
        if budget == 0 {
            break;
        }
        each_word(&memory, range, |word| {
            let hidden = hidden(word & (usize::MAX >> 1));
            if wanted.contains(&hidden) {
                left.remove(&hidden);
            }
        });
    }
    left
}

/// Passes the aligned words of a range, but those of pages that are not mapped any more.
fn each_word(memory: &File, range: Range<usize>, mut found: impl FnMut(usize)) {
    const WORD: usize = size_of::<usize>();

    let mut buffer = vec![0; CHUNK];
    let mut at = range.start.next_multiple_of(WORD);
    while at + WORD <= range.end {
        let wanted = &mut buffer[..CHUNK.min(range.end - at)];
        let read = memory.read_at(wanted, at as u64).unwrap_or(0);
        let (words, _) = wanted[..read].as_chunks::<WORD>();
        for word in words {
            found(usize::from_ne_bytes(*word));
        }
        at = match words.len() {
            0 => (at + 1).next_multiple_of(PAGE),
            words => at + words * WORD,
        };
    }
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

    #[test]
    fn memory_that_is_gone_has_no_words() {
        let memory = File::open("/proc/self/mem").unwrap();
        let mut words = 0;
        each_word(&memory, PAGE..3 * PAGE, |_| words += 1);
        assert_eq!(words, 0);
        let here = [7_usize; 3];
        let start = here.as_ptr().addr();
        let mut sum = 0;
        each_word(&memory, start..start + size_of_val(&here), |word| {
            sum += word;
        });
        assert_eq!(sum, 21);
    }
}

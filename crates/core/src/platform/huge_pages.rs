//! Memory that is often copied in large pieces moves to huge pages.
//!
//! A copy between small pages of shared memory takes up to 1.8 times as long, as the processor looks for an address
//! translation every 4 KiB. The kernel rarely puts shared memory on huge pages by itself, but it does on request, for
//! memory that is in use already: that takes as long as some copies of it. So memory moves when it has been copied
//! [`FIRST`] times, and no program loses more than it has spent before. Only pages which a copy fills go
//! there, so no memory is used beyond what the program uses.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::mapping::{self, HUGE_PAGE};

/// Copies of a range after which it moves.
const FIRST: u64 = 4;
/// Copies after which it is tried again: memory may have been given back, or was not available.
const AGAIN: u64 = 64;
/// Ranges that are remembered at once.
const RANGES: usize = 64;
/// A remembered range is a hash of where it begins and ends, above the number of copies.
const COPIES_BITS: u32 = 16;

/// Addresses from and to which copies count; none before the library is initialised.
static FOLLOWED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// Ranges that were copied. Threads that copy at the same time may lose a count.
static COPIED: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];

/// Lets copies from and to these addresses count. All that is copied there is shared memory.
pub fn follow(addresses: Range<usize>) {
    // In this order no copy sees a larger range than the old or the new one.
    FOLLOWED[1].store(0, Ordering::Relaxed);
    FOLLOWED[0].store(addresses.start, Ordering::Release);
    FOLLOWED[1].store(addresses.end, Ordering::Release);
}

/// Counts a large copy from or to `bytes` bytes at `at`, and moves them to huge pages if it is time.
pub fn count_copy(at: usize, bytes: usize) {
    let end = FOLLOWED[1].load(Ordering::Acquire);
    let whole = at.next_multiple_of(HUGE_PAGE)..(at + bytes) / HUGE_PAGE * HUGE_PAGE;
    let is_followed = FOLLOWED[0].load(Ordering::Relaxed) <= whole.start && whole.end <= end;
    if whole.is_empty() || !is_followed {
        return;
    }
    let hash = hash(&whole);
    if !is_due(hash) {
        return;
    }
    // SAFETY: the caller has just copied from or to these bytes.
    let moved = unsafe { mapping::collapse(whole.start, whole.len()) };
    match moved.map_err(|error| error.kind()) {
        // This kernel cannot.
        Err(io::ErrorKind::InvalidInput) => follow(0..0),
        // Other PEs use the pages right now.
        Err(io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy) => {
            set_copies(hash, FIRST - 1);
        }
        // Without memory in pieces of this size, each attempt takes long.
        Ok(()) | Err(_) => {}
    }
}

/// Tells ranges apart: copies of a part of an array leave the rest where it is.
fn hash(whole: &Range<usize>) -> u64 {
    let ends = [whole.start, whole.end].map(|at| (at / HUGE_PAGE) as u64);
    let mixed =
        ends[0].wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ends[1].wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 31) >> COPIES_BITS
}

/// What is remembered of the range of a hash, or of another one.
fn remembered(hash: u64) -> &'static AtomicU64 {
    &COPIED[hash as usize % RANGES]
}

fn set_copies(hash: u64, copies: u64) {
    remembered(hash).store(hash << COPIES_BITS | copies, Ordering::Relaxed);
}

/// Counts a copy of a range; whether the range is to move.
fn is_due(hash: u64) -> bool {
    let seen = remembered(hash).load(Ordering::Relaxed);
    let copies = match seen >> COPIES_BITS == hash {
        true => (seen & ((1 << COPIES_BITS) - 1)) % AGAIN + 1,
        false => 1,
    };
    set_copies(hash, copies);
    copies == FIRST
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::super::mapping::{MapAddress, can_collapse, map_shared, memory_file, unmap};
    use super::*;

    #[test]
    fn a_part_of_a_range_is_another_range() {
        let at = |pages: Range<usize>| pages.start * HUGE_PAGE..pages.end * HUGE_PAGE;
        let ranges = [at(8..12), at(8..16), at(8..40), at(10..16), at(9..12)];
        let mut hashes = ranges.each_ref().map(hash).to_vec();
        assert!(hashes.iter().all(|hash| hash >> (64 - COPIES_BITS) == 0));
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), ranges.len());
    }

    #[test]
    fn a_range_is_due_after_some_copies_and_again_later() {
        let due = |copies: u64| (0..copies).filter(|_| is_due(12345)).count();
        assert_eq!(due(FIRST - 1), 0);
        assert_eq!(due(1), 1);
        assert_eq!(due(AGAIN - 1), 0);
        assert_eq!(due(1), 1);
    }

    #[test]
    fn what_is_copied_often_is_on_huge_pages_and_nothing_else() {
        const LEN: usize = 8 * HUGE_PAGE;
        let file = memory_file(LEN as u64).unwrap();
        // SAFETY: placed where there is room, and used by this test alone.
        let at = unsafe {
            let room = map_shared(file.as_fd(), 0, 2 * LEN, MapAddress::Anywhere).unwrap();
            unmap(room as usize, 2 * LEN);
            let at = (room as usize).next_multiple_of(HUGE_PAGE);
            map_shared(file.as_fd(), 0, LEN, MapAddress::Exactly(at)).unwrap() as usize
        };
        // SAFETY: mapped above.
        let all = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, LEN) };
        // Parts of the first and the last page, and three pages between them.
        let copied = HUGE_PAGE - 4096..4 * HUGE_PAGE + 4096;
        let huge_kib = || {
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let start = format!("{at:x}-");
            let own = smaps.lines().skip_while(|line| !line.starts_with(&start));
            let huge = own
                .into_iter()
                .find_map(|line| line.strip_prefix("ShmemPmdMapped:"));
            huge.unwrap().trim().to_owned()
        };
        let copy = |all: &mut [u8], number| {
            all[copied.clone()].fill(number);
            count_copy(at + copied.start, copied.len());
        };

        copy(all, 1);
        if huge_kib() != "0 kB" {
            println!("skipped: the system puts shared memory on huge pages by itself");
            return;
        }
        follow(at..at + LEN);
        for number in 2..=FIRST as u8 {
            copy(all, number);
            assert_eq!(huge_kib(), "0 kB");
        }
        copy(all, 9);
        follow(0..0);
        let moved = if can_collapse() { 3 * HUGE_PAGE } else { 0 };
        assert_eq!(huge_kib(), format!("{} kB", moved >> 10));
        assert!(all[copied.clone()].iter().all(|byte| *byte == 9));
        assert_eq!(all.iter().filter(|b| **b != 0).count(), copied.len());
        // SAFETY: used no more.
        unsafe { unmap(at, LEN) };
    }
}

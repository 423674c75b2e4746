//! Memory that is often copied in large pieces moves to huge pages.
//!
//! A copy between small pages of shared memory takes up to 1.8 times as long, as the processor looks for an address
//! translation every 4 KiB. The kernel rarely puts shared memory on huge pages by itself, but it does on request, for
//! memory that is in use already: that takes as long as 2 to 80 copies of it, as the kernel finds memory in pieces of
//! this size or must make them. So memory moves page by page once it has been copied `FIRST` times, and all moves
//! together take at most a fifth of the time that copies take. Only pages which a copy fills go there, so no memory is
//! used beyond what the program uses.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use super::mapping::{self, HUGE_PAGE};

/// Copies of a range after which it begins to move.
const FIRST: u64 = 4;
/// Copies after which the range begins again: memory may have been given back, or was not available.
const AGAIN: u64 = 64;
/// Ranges that are remembered at once.
const RANGES: usize = 64;
/// Bytes whose copies earn a nanosecond for moves: a quarter of what a core takes for them.
const EARNING: usize = 64;
/// A remembered range is a hash of where it begins and ends, above the number of copies.
const COPIES_BITS: u32 = 16;

/// Addresses from and to which copies count; none before the library is initialised.
static FOLLOWED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
/// Ranges that were copied. Threads that copy at the same time may lose a count.
static COPIED: [AtomicU64; RANGES] = [const { AtomicU64::new(0) }; RANGES];
/// Where the rest of each begins, which has not moved yet.
static REST: [AtomicUsize; RANGES] = [const { AtomicUsize::new(0) }; RANGES];
/// Nanoseconds that copies have earned for moves, less those of moves.
static EARNED: AtomicI64 = AtomicI64::new(0);

/// Lets copies from and to these addresses count. All that is copied there is shared memory.
pub fn follow(addresses: Range<usize>) {
    // In this order no copy sees a larger range than the old or the new one.
    FOLLOWED[1].store(0, Ordering::Relaxed);
    FOLLOWED[0].store(addresses.start, Ordering::Release);
    FOLLOWED[1].store(addresses.end, Ordering::Release);
}

/// Counts a large copy from or to `bytes` bytes at `at`, and moves pages of them if it is time.
pub fn count_copy(at: usize, bytes: usize) {
    let end = FOLLOWED[1].load(Ordering::Acquire);
    let whole = at.next_multiple_of(HUGE_PAGE)..(at + bytes) / HUGE_PAGE * HUGE_PAGE;
    let is_followed = FOLLOWED[0].load(Ordering::Relaxed) <= whole.start && whole.end <= end;
    if whole.is_empty() || !is_followed {
        return;
    }
    EARNED.fetch_add((bytes / EARNING) as i64, Ordering::Relaxed);
    let hash = hash(&whole);
    let rest = &REST[hash as usize % RANGES];
    let copies = count(hash);
    if copies == 1 {
        rest.store(whole.start, Ordering::Relaxed);
    }
    if copies < FIRST {
        return;
    }
    let mut page = rest.load(Ordering::Relaxed);
    // Another thread may have stored the rest of another range meanwhile.
    while whole.contains(&page) && EARNED.load(Ordering::Relaxed) > 0 {
        let next = move_page(page).unwrap_or(whole.end);
        rest.store(next, Ordering::Relaxed);
        if next == page {
            return;
        }
        page = next;
    }
}

/// Moves a page of a range; where to go on with the next copy, or None if it is no use.
fn move_page(page: usize) -> Option<usize> {
    let start = Instant::now();
    // SAFETY: the caller has just copied from or to these bytes.
    let moved = unsafe { mapping::collapse(page, HUGE_PAGE) };
    let took = i64::try_from(start.elapsed().as_nanos()).unwrap_or(i64::MAX);
    EARNED.fetch_sub(took, Ordering::Relaxed);
    match moved.map_err(|error| error.kind()) {
        Ok(()) => Some(page + HUGE_PAGE),
        // Other PEs use the page right now.
        Err(io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy) => Some(page),
        // This kernel cannot.
        Err(io::ErrorKind::InvalidInput) => {
            follow(0..0);
            None
        }
        // Without memory in pieces of this size, each attempt takes long.
        Err(_) => None,
    }
}

/// Tells ranges apart: copies of a part of an array leave the rest where it is.
fn hash(whole: &Range<usize>) -> u64 {
    let ends = [whole.start, whole.end].map(|at| (at / HUGE_PAGE) as u64);
    let mixed = ends[0].wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ends[1].wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ mixed >> 31) >> COPIES_BITS
}

/// Counts a copy of a range; which one it is, from 1 to [`AGAIN`].
fn count(hash: u64) -> u64 {
    let remembered = &COPIED[hash as usize % RANGES];
    let seen = remembered.load(Ordering::Relaxed);
    let copies = match seen >> COPIES_BITS == hash {
        true => (seen & ((1 << COPIES_BITS) - 1)) % AGAIN + 1,
        false => 1,
    };
    remembered.store(hash << COPIES_BITS | copies, Ordering::Relaxed);
    copies
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::super::mapping::{can_collapse, huge_kib, huge_pages_refused, map_huge, memory_file, unmap};
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
    fn a_range_begins_again() {
        let copies: Vec<u64> = (0..AGAIN + 2).map(|_| count(12345)).collect();
        assert!(copies.iter().take(AGAIN as usize).copied().eq(1..=AGAIN));
        assert_eq!(copies[AGAIN as usize..], [1, 2]);
        count(12345 + RANGES as u64);
        assert_eq!(count(12345), 1, "another range has taken its place");
    }

    #[test]
    fn what_is_copied_often_is_on_huge_pages_and_nothing_else() {
        const LEN: usize = 8 * HUGE_PAGE;
        let refused = huge_pages_refused();
        let file = memory_file(LEN as u64).unwrap();
        let at = map_huge(file.as_fd(), LEN).unwrap() as usize;
        // SAFETY: mapped above.
        let all = unsafe { std::slice::from_raw_parts_mut(at as *mut u8, LEN) };
        // Parts of the first and the last page, and three pages between them.
        let copied = HUGE_PAGE - 4096..4 * HUGE_PAGE + 4096;
        let copy = |all: &mut [u8], number| {
            all[copied.clone()].fill(number);
            count_copy(at + copied.start, copied.len());
        };

        copy(all, 1);
        if huge_kib(at) != 0 {
            println!("skipped: the system puts shared memory on huge pages by itself");
            return;
        }
        follow(at..at + LEN);
        for number in 2..=FIRST as u8 {
            copy(all, number);
            assert_eq!(huge_kib(at), 0);
        }
        copy(all, 9);
        // A page may take as long as many copies.
        for _ in 0..20_000 {
            count_copy(at + copied.start, copied.len());
        }
        follow(0..0);
        let moved = if can_collapse() { 3 * HUGE_PAGE } else { 0 };
        if huge_pages_refused() == refused {
            assert_eq!(huge_kib(at), moved >> 10);
        }
        assert!(all[copied.clone()].iter().all(|byte| *byte == 9));
        assert_eq!(all.iter().filter(|b| **b != 0).count(), copied.len());
        // SAFETY: used no more.
        unsafe { unmap(at, LEN) };
    }
}

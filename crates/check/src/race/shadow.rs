//! Who accessed what last. Pages that one access covers have one entry for all of their words.

use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::Clock;
use super::layout::{CELLS, GRANULE, GRANULE_WORDS, GRANULES, PAGE, PAGES};
use crate::shared::mixed;

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Access {
    Read = 1,
    /// Complete when the call returns.
    Write,
    /// Complete after a quiet.
    Put,
    AtomicRead,
    AtomicUpdate,
}

impl Access {
    fn numbered(number: u64) -> Self {
        match number {
            1 => Self::Read,
            2 => Self::Write,
            3 => Self::Put,
            4 => Self::AtomicRead,
            _ => Self::AtomicUpdate,
        }
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Put | Self::AtomicUpdate)
    }

    fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicUpdate)
    }

    fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }
}

/// One access of some of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub time: u32,
    pub pe: usize,
    pub access: Access,
    /// A bit for each byte.
    pub bytes: u8,
    pub site: u32,
}

const THERE: u64 = 1 << 63;

impl Cell {
    fn words(self) -> [u64; 2] {
        let first = u64::from(self.time)
            | (self.pe as u64) << 32
            | (self.access as u64) << 48
            | u64::from(self.bytes) << 52
            | THERE;
        [first, self.site.into()]
    }

    fn from_words([first, second]: [u64; 2]) -> Option<Self> {
        (first & THERE != 0).then_some(Self {
            time: first as u32,
            pe: (first >> 32) as usize & 0xffff,
            access: Access::numbered(first >> 48 & 0xf),
            bytes: (first >> 52) as u8,
            site: second as u32,
        })
    }
}

/// Flags of a page.
const LOCKED: u64 = 1;
/// Its words differ.
const PARTED: u64 = 2;

/// The shadow memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shadow {
    index: &'static [AtomicU64],
    words: &'static [AtomicU64],
}

/// A page that this thread has locked.
struct Page {
    flags: &'static AtomicU64,
    words: &'static [AtomicU64],
}

impl Drop for Page {
    fn drop(&mut self) {
        self.flags.fetch_and(!LOCKED, Ordering::Release);
    }
}

impl Page {
    fn cells(&self, granule: usize) -> [Option<Cell>; CELLS] {
        let at = granule * GRANULE_WORDS;
        std::array::from_fn(|i| {
            let word = |n: usize| self.words[at + 2 * i + n].load(Ordering::Relaxed);
            Cell::from_words([word(0), word(1)])
        })
    }

    fn set(&self, granule: usize, cell: usize, to: Option<Cell>) {
        let at = granule * GRANULE_WORDS + 2 * cell;
        let words = to.map_or([0; 2], Cell::words);
        for (n, word) in words.into_iter().enumerate() {
            self.words[at + n].store(word, Ordering::Relaxed);
        }
    }

    fn is_parted(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & PARTED != 0
    }

    /// Gives each word cells of its own.
    fn part(&self) {
        if self.is_parted() {
            return;
        }
        let of_all = self.cells(0);
        if of_all.iter().any(Option::is_some) {
            for granule in 1..GRANULES {
                for (i, cell) in of_all.iter().enumerate() {
                    self.set(granule, i, *cell);
                }
            }
        }
        self.flags.fetch_or(PARTED, Ordering::Relaxed);
    }

    fn clear(&self, granules: std::ops::Range<usize>) {
        if granules.len() == GRANULES {
            if self.is_parted() {
                // All words, as they are read when the page is parted again.
                for word in self.words {
                    if word.load(Ordering::Relaxed) != 0 {
                        word.store(0, Ordering::Relaxed);
                    }
                }
            }
            self.flags.fetch_and(!PARTED, Ordering::Relaxed);
            (0..CELLS).for_each(|i| self.set(0, i, None));
            return;
        }
        self.part();
        for granule in granules {
            (0..CELLS).for_each(|i| self.set(granule, i, None));
        }
    }
}

/// Adds an access to the cells of eight bytes, and hands those that conflict to `found`. The cells afterwards are this one
/// alone: true.
fn add(page: &Page, granule: usize, new: Cell, clock: &Clock, found: &mut dyn FnMut(Cell)) -> bool {
    let cells = page.cells(granule);
    let (mut place, mut is_alone, mut is_there) = (None, true, false);
    for (i, cell) in cells.iter().enumerate() {
        let Some(old) = cell else {
            place = place.or(Some(i));
            continue;
        };
        let is_put = old.access == Access::Put;
        let is_before = clock.is_before(old.pe, old.time, is_put);
        let is_covered = old.bytes & !new.bytes == 0;
        if old.pe == new.pe && old.access == new.access && is_covered {
            if is_there {
                page.set(granule, i, None);
            } else {
                page.set(granule, i, Some(new));
                is_there = true;
            }
            continue;
        }
        if !is_before && old.bytes & new.bytes != 0 && old.access.conflicts(new.access) {
            found(*old);
        }
        // What follows a write that follows another access follows that, too. A put of this PE that is not complete stays.
        let is_over = match old.pe == new.pe {
            true => !is_put && new.access != Access::Put,
            false => is_before,
        };
        if is_over && is_covered && new.access.writes() {
            page.set(granule, i, None);
            place = place.or(Some(i));
            continue;
        }
        is_alone = false;
    }
    if !is_there {
        // Any other one is lost, which may hide a race.
        let place = place.unwrap_or(new.time as usize % CELLS);
        page.set(granule, place, Some(new));
    }
    is_alone
}

/// The first byte that both access.
fn common(a: Cell, b: Cell) -> u64 {
    (a.bytes & b.bytes).trailing_zeros().into()
}

impl Shadow {
    pub(super) fn new(index: &'static [AtomicU64], words: &'static [AtomicU64]) -> Self {
        Self { index, words }
    }

    /// The page of PE `pe` that has this address, locked; None if there is no room, or, unless it is made, none.
    fn page(&self, pe: usize, at: u64, make: bool) -> Option<Page> {
        const PROBES: usize = 256;
        let key = THERE | (pe as u64) << 44 | (at / PAGE as u64);
        let start = mixed(key, 0) as usize;
        for i in 0..PROBES {
            let number = start.wrapping_add(i) % PAGES;
            let word = &self.index[2 * number];
            let mut there = word.load(Ordering::Acquire);
            if there == 0 {
                if !make {
                    return None;
                }
                let taken = word.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
                there = taken.map_or_else(|there| there, |_| key);
            }
            if there == key {
                let flags = &self.index[2 * number + 1];
                let mut tries = 0_u32;
                while flags.fetch_or(LOCKED, Ordering::Acquire) & LOCKED != 0 {
                    tries += 1;
                    // A PE that died may have it.
                    if tries > 1_000_000 {
                        break;
                    }
                    std::thread::yield_now();
                }
                let words = GRANULES * GRANULE_WORDS;
                return Some(Page {
                    flags,
                    words: &self.words[number * words..(number + 1) * words],
                });
            }
        }
        None
    }

    /// Adds an access of memory of PE `pe`, whose bytes `new` has not; hands accesses that conflict to `found`, with their
    /// address. False: there was no room.
    pub(super) fn access(
        &self,
        (pe, at, len): (usize, u64, usize),
        new: Cell,
        clock: &Clock,
        found: &mut dyn FnMut(Cell, u64),
    ) -> bool {
        let end = at + len as u64;
        let mut here = at;
        while here < end {
            let start = here / PAGE as u64 * PAGE as u64;
            let to = end.min(start + PAGE as u64);
            let Some(page) = self.page(pe, here, true) else {
                return false;
            };
            let whole = Cell { bytes: 0xff, ..new };
            if here == start && to == start + PAGE as u64 {
                if page.is_parted() {
                    let mut is_alone = true;
                    for granule in 0..GRANULES {
                        let of = start + (granule * GRANULE) as u64;
                        is_alone &= add(&page, granule, whole, clock, &mut |c| {
                            found(c, of + common(c, whole));
                        });
                    }
                    if is_alone {
                        page.clear(0..GRANULES);
                        page.set(0, 0, Some(whole));
                    }
                } else {
                    add(&page, 0, whole, clock, &mut |c| {
                        found(c, start + common(c, whole));
                    });
                }
            } else {
                page.part();
                let first = (here - start) as usize / GRANULE;
                let last = (to - start - 1) as usize / GRANULE;
                for granule in first..=last {
                    let of = start + (granule * GRANULE) as u64;
                    let low = here.saturating_sub(of).min(8) as u32;
                    let high = (to - of).min(8) as u32;
                    let bytes = (0xff_u32 << low) & (0xff >> (8 - high));
                    let cell = Cell {
                        bytes: bytes as u8,
                        ..new
                    };
                    add(&page, granule, cell, clock, &mut |c| {
                        found(c, of + common(c, cell));
                    });
                }
            }
            here = to;
        }
        true
    }

    /// Forgets who accessed memory of PE `pe`.
    pub(super) fn clear(&self, (pe, at, len): (usize, u64, usize)) {
        let end = at + len as u64;
        let mut here = at;
        while here < end {
            let start = here / PAGE as u64 * PAGE as u64;
            let to = end.min(start + PAGE as u64);
            if let Some(page) = self.page(pe, here, false) {
                let first = (here - start) as usize / GRANULE;
                let last = (to - start - 1) as usize / GRANULE;
                page.clear(first..last + 1);
            }
            here = to;
        }
    }

    /// The writes of other PEs than `me` to bytes of PE `pe` that a wait has seen: they are complete.
    pub(super) fn seen(&self, (pe, at, len): (usize, u64, usize), me: usize) -> Vec<Cell> {
        let mut all = Vec::new();
        let end = at + len as u64;
        let mut here = at / GRANULE as u64 * GRANULE as u64;
        while here < end {
            if let Some(page) = self.page(pe, here, false) {
                page.part();
                let granule = (here % PAGE as u64) as usize / GRANULE;
                for (i, cell) in page.cells(granule).into_iter().enumerate() {
                    let Some(cell) = cell.filter(|c| c.pe != me && c.access.writes()) else {
                        continue;
                    };
                    if cell.access == Access::Put {
                        let complete = Cell {
                            access: Access::Write,
                            ..cell
                        };
                        page.set(granule, i, Some(complete));
                    }
                    all.push(cell);
                }
            }
            here += GRANULE as u64;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_two_words() {
        let cell = Cell {
            time: u32::MAX,
            pe: 4095,
            access: Access::AtomicUpdate,
            bytes: 0x81,
            site: u32::MAX,
        };
        assert_eq!(Cell::from_words(cell.words()), Some(cell));
        assert_eq!(Cell::from_words([0, 0]), None);
    }

    #[test]
    fn accesses_conflict_if_one_writes_and_not_both_are_atomic() {
        use Access::{AtomicRead, AtomicUpdate, Put, Read, Write};
        assert!(Put.conflicts(Read) && Read.conflicts(Write) && Write.conflicts(Put));
        assert!(AtomicUpdate.conflicts(Read) && Put.conflicts(AtomicRead));
        assert!(!Read.conflicts(Read) && !AtomicUpdate.conflicts(AtomicRead));
        assert!(!AtomicRead.conflicts(Read));
    }
}

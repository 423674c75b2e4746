//! The shadow memory: who accessed what last. A page whose accesses all covered it has one granule's cells for all of
//! its words.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clock::{Clock, Via};
use crate::layout::race::{CELLS, GRANULE, GRANULE_WORDS, GRANULES, PAGE};
use crate::shared::{mixed, yield_until};

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// Complete when the call returns.
    Write,
    /// Complete after a quiet of the context.
    Put(Via),
    AtomicRead,
    AtomicUpdate,
    /// The same, complete after a quiet of the context.
    AtomicPut(Via),
}

impl Access {
    /// All of them, by number.
    const ALL: [Self; 10] = [
        Self::Read,
        Self::Write,
        Self::AtomicRead,
        Self::AtomicUpdate,
        Self::Put(Via::ALL[0]),
        Self::Put(Via::ALL[1]),
        Self::Put(Via::ALL[2]),
        Self::AtomicPut(Via::ALL[0]),
        Self::AtomicPut(Via::ALL[1]),
        Self::AtomicPut(Via::ALL[2]),
    ];

    /// Of four bits.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Read => 0,
            Self::Write => 1,
            Self::AtomicRead => 2,
            Self::AtomicUpdate => 3,
            Self::Put(via) => 4 + via.number() as u64,
            Self::AtomicPut(via) => 7 + via.number() as u64,
        }
    }

    pub(super) fn numbered(number: u64) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or(Self::AtomicUpdate)
    }

    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Put(_) | Self::AtomicUpdate | Self::AtomicPut(_))
    }

    /// The context after whose quiet alone it is complete.
    fn put(self) -> Option<Via> {
        match self {
            Self::Put(via) | Self::AtomicPut(via) => Some(via),
            _ => None,
        }
    }

    /// The same once it is complete.
    fn completed(self) -> Self {
        match self {
            Self::Put(_) => Self::Write,
            Self::AtomicPut(_) => Self::AtomicUpdate,
            other => other,
        }
    }

    fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicRead | Self::AtomicUpdate | Self::AtomicPut(_))
    }

    fn conflicts(self, other: Self) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }
}

/// A shadow cell: one access of some bytes of a granule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    pub epoch: u32,
    pub pe: usize,
    pub access: Access,
    /// A bit for each byte of the granule.
    pub bytes: u8,
    /// What a put writes, as a number: that of another place or other contents is another one. 0: not known.
    pub contents: u32,
    pub site: u32,
}

/// In a cell's first word, and a page's key: it is in use.
const USED: u64 = 1 << 63;

impl Cell {
    pub(super) fn words(self) -> [u64; 2] {
        let first = u64::from(self.epoch)
            | (self.pe as u64) << 32
            | self.access.number() << 48
            | u64::from(self.bytes) << 52
            | USED;
        [first, u64::from(self.contents) << 32 | u64::from(self.site)]
    }

    pub(super) fn from_words([first, second]: [u64; 2]) -> Option<Self> {
        (first & USED != 0).then_some(Self {
            epoch: first as u32,
            pe: (first >> 32) as usize & 0xffff,
            access: Access::numbered(first >> 48 & 0xf),
            bytes: (first >> 52) as u8,
            contents: (second >> 32) as u32,
            site: second as u32,
        })
    }

    /// Puts of one PE that write the same, or of which that is not known, do not matter to each other.
    fn conflicts(self, new: Self) -> bool {
        let is_repeated = self.pe == new.pe
            && matches!((self.access, new.access), (Access::Put(_), Access::Put(_)))
            && (self.contents == new.contents || self.contents == 0 || new.contents == 0);
        self.bytes & new.bytes != 0 && self.access.conflicts(new.access) && !is_repeated
    }

    fn is_covered_by(self, new: Self) -> bool {
        self.bytes & !new.bytes == 0
    }

    /// Whether a new access stands for it, too: what follows a write that follows another access follows that, too. A
    /// put of the same PE that is not complete stays.
    fn is_replaced_by(self, new: Self, is_before: bool) -> bool {
        let is_over = match self.pe == new.pe {
            true => self.access.put().is_none() && new.access.put().is_none(),
            false => is_before,
        };
        is_over && self.is_covered_by(new) && new.access.writes()
    }

    /// The first byte that both access.
    fn first_common(self, other: Self) -> u64 {
        (self.bytes & other.bytes).trailing_zeros().into()
    }
}

/// Flags of a page.
const LOCKED: u64 = 1;
/// Each of its granules has cells of its own.
const SPLIT: u64 = 2;

/// Places where a page may be: what is not in one of them has no room.
const PROBES: usize = 256;

/// The shadow memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shadow {
    /// The key and the flags of each page.
    index: &'static [AtomicU64],
    words: &'static [AtomicU64],
}

/// A page that this thread has locked.
struct Page {
    flags: &'static AtomicU64,
    words: &'static [AtomicU64],
}

/// Whether a page is made that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Make {
    Yes,
    No,
}

impl Drop for Page {
    fn drop(&mut self) {
        self.flags.fetch_and(!LOCKED, Ordering::Release);
    }
}

impl Page {
    /// Locks a page.
    fn lock(flags: &'static AtomicU64, words: &'static [AtomicU64]) -> Self {
        yield_until(|| flags.fetch_or(LOCKED, Ordering::Acquire) & LOCKED == 0);
        Self { flags, words }
    }

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

    fn is_split(&self) -> bool {
        self.flags.load(Ordering::Relaxed) & SPLIT != 0
    }

    /// Gives each granule cells of its own.
    fn split(&self) {
        if self.is_split() {
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
        self.flags.fetch_or(SPLIT, Ordering::Relaxed);
    }

    /// Forgets who accessed some granules.
    fn clear(&self, granules: Range<usize>) {
        if granules.len() < GRANULES {
            self.split();
            for granule in granules {
                (0..CELLS).for_each(|i| self.set(granule, i, None));
            }
            return;
        }
        if self.is_split() {
            // All words, since a split leaves them as they are where the first granule has none.
            for word in self.words {
                if word.load(Ordering::Relaxed) != 0 {
                    word.store(0, Ordering::Relaxed);
                }
            }
        }
        self.flags.fetch_and(!SPLIT, Ordering::Relaxed);
        (0..CELLS).for_each(|i| self.set(0, i, None));
    }

    /// Adds an access to the cells of a granule, and hands those that conflict to `found`. True: of the cells, it alone
    /// is left.
    fn add(&self, granule: usize, new: Cell, clock: &Clock, found: &mut dyn FnMut(Cell)) -> bool {
        let (mut place, mut is_alone, mut is_there) = (None, true, false);
        for (i, cell) in self.cells(granule).iter().enumerate() {
            let Some(old) = cell else {
                place = place.or(Some(i));
                continue;
            };
            let is_before = clock.is_before(old.pe, old.epoch, old.access.put());
            if !is_before && old.conflicts(new) {
                found(*old);
            }
            if old.pe == new.pe && old.access == new.access && old.is_covered_by(new) {
                self.set(granule, i, (!is_there).then_some(new));
                is_there = true;
                continue;
            }
            if old.is_replaced_by(new, is_before) {
                self.set(granule, i, None);
                place = place.or(Some(i));
                continue;
            }
            is_alone = false;
        }
        if !is_there {
            // Any other one is lost, which may hide a race.
            let place = place.unwrap_or(new.epoch as usize % CELLS);
            self.set(granule, place, Some(new));
        }
        is_alone
    }

    /// Adds an access that covers the page, which begins at `start`; hands accesses that conflict to `found`.
    fn add_to_all(&self, start: u64, new: Cell, clock: &Clock, found: &mut dyn FnMut(Cell, u64)) {
        let whole = Cell { bytes: 0xff, ..new };
        let granules = if self.is_split() { GRANULES } else { 1 };
        let mut is_alone = true;
        for granule in 0..granules {
            let of = start + (granule * GRANULE) as u64;
            is_alone &= self.add(granule, whole, clock, &mut |cell| {
                found(cell, of + cell.first_common(whole));
            });
        }
        if is_alone && self.is_split() {
            self.clear(0..GRANULES);
            self.set(0, 0, Some(whole));
        }
    }

    /// Adds an access of `range`, which lies in the page that begins at `start`.
    fn add_to_some(&self, start: u64, range: Range<u64>, new: Cell, clock: &Clock, found: &mut dyn FnMut(Cell, u64)) {
        self.split();
        for granule in granules(&range) {
            let of = start + (granule * GRANULE) as u64;
            let cell = Cell { bytes: mask(of, &range), ..new };
            self.add(granule, cell, clock, &mut |old| {
                found(old, of + old.first_common(cell));
            });
        }
    }
}

/// The parts of a range of addresses that lie in one page each.
fn pages((at, len): (u64, usize)) -> impl Iterator<Item = Range<u64>> {
    let end = at.saturating_add(len as u64);
    let first = at / PAGE as u64;
    let last = match len {
        0 => first,
        _ => end.div_ceil(PAGE as u64),
    };
    (first..last).map(move |page| {
        let start = page * PAGE as u64;
        at.max(start)..end.min(start + PAGE as u64)
    })
}

/// The granules of its page that a range touches, which is not empty.
fn granules(range: &Range<u64>) -> Range<usize> {
    let within = |at: u64| (at % PAGE as u64) as usize / GRANULE;
    within(range.start)..within(range.end - 1) + 1
}

/// A bit for each byte of the granule at `of` that is in a range, which touches it.
fn mask(of: u64, range: &Range<u64>) -> u8 {
    let low = range.start.saturating_sub(of).min(GRANULE as u64) as u32;
    let high = (range.end - of).min(GRANULE as u64) as u32;
    ((0xff_u32 << low) & (0xff >> (GRANULE as u32 - high))) as u8
}

impl Shadow {
    pub(super) fn new(index: &'static [AtomicU64], words: &'static [AtomicU64]) -> Self {
        Self { index, words }
    }

    /// The page of PE `pe` that has this address, locked; None if it is not there, or there is no room for it.
    fn page(&self, pe: usize, at: u64, make: Make) -> Option<Page> {
        const WORDS: usize = GRANULES * GRANULE_WORDS;
        let key = USED | (pe as u64) << 44 | (at / PAGE as u64);
        let first = mixed(key, 0) as usize;
        let pages = self.index.len() / 2;
        for i in 0..PROBES.min(pages) {
            let number = first.wrapping_add(i) % pages;
            let word = &self.index[2 * number];
            let mut there = word.load(Ordering::Acquire);
            if there == 0 {
                if make == Make::No {
                    return None;
                }
                let taken = word.compare_exchange(0, key, Ordering::AcqRel, Ordering::Acquire);
                there = taken.map_or_else(|there| there, |_| key);
            }
            if there == key {
                let words = &self.words[number * WORDS..][..WORDS];
                return Some(Page::lock(&self.index[2 * number + 1], words));
            }
        }
        None
    }

    /// Adds an access of `len` bytes at `at` of PE `pe`; `new` has everything but the bytes. Hands accesses that
    /// conflict to `found`, with their address. False: there was no room.
    pub(super) fn access(
        &self,
        (pe, at, len): (usize, u64, usize),
        new: Cell,
        clock: &Clock,
        found: &mut dyn FnMut(Cell, u64),
    ) -> bool {
        for range in pages((at, len)) {
            let Some(page) = self.page(pe, range.start, Make::Yes) else {
                return false;
            };
            let start = range.start / PAGE as u64 * PAGE as u64;
            if range.end - range.start == PAGE as u64 {
                page.add_to_all(start, new, clock, found);
            } else {
                page.add_to_some(start, range, new, clock, found);
            }
        }
        true
    }

    /// Forgets who accessed memory of PE `pe`.
    pub(super) fn clear(&self, (pe, at, len): (usize, u64, usize)) {
        for range in pages((at, len)) {
            if let Some(page) = self.page(pe, range.start, Make::No) {
                page.clear(granules(&range));
            }
        }
    }

    /// The writes of other PEs than `me` to bytes of PE `pe` that a wait has seen: they are complete. So are its own.
    pub(super) fn seen(&self, (pe, at, len): (usize, u64, usize), me: usize) -> Vec<Cell> {
        let mut all = Vec::new();
        for range in pages((at, len)) {
            let Some(page) = self.page(pe, range.start, Make::No) else {
                continue;
            };
            let start = range.start / PAGE as u64 * PAGE as u64;
            page.split();
            for granule in granules(&range) {
                let bytes = mask(start + (granule * GRANULE) as u64, &range);
                for (i, cell) in page.cells(granule).into_iter().enumerate() {
                    let is_seen = |c: &Cell| c.access.writes() && c.bytes & bytes != 0;
                    let Some(cell) = cell.filter(is_seen) else {
                        continue;
                    };
                    if cell.access.put().is_some() {
                        let complete = Cell { access: cell.access.completed(), ..cell };
                        page.set(granule, i, Some(complete));
                    }
                    if cell.pe != me {
                        all.push(cell);
                    }
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_two_words() {
        for access in Access::ALL {
            let cell = Cell { epoch: u32::MAX, pe: 4095, access, bytes: 0x81, contents: 1 << 31 | 5, site: u32::MAX };
            assert_eq!(Cell::from_words(cell.words()), Some(cell));
        }
        assert_eq!(Cell::from_words([0, 0]), None);
    }

    #[test]
    fn accesses_conflict_if_one_writes_and_not_both_are_atomic() {
        use Access::{AtomicRead, AtomicUpdate, Read, Write};
        const PUT: Access = Access::Put(Via::DEFAULT);
        assert!(PUT.conflicts(Read) && Read.conflicts(Write) && Write.conflicts(PUT));
        assert!(AtomicUpdate.conflicts(Read) && PUT.conflicts(AtomicRead));
        assert!(!Read.conflicts(Read) && !AtomicUpdate.conflicts(AtomicRead));
        assert!(!AtomicRead.conflicts(Read));
    }

    /// Shadow memory with room for the pages that a test touches: those whose keys fall on the first places.
    fn shadow() -> Shadow {
        let zeros = |words: usize| -> &'static [AtomicU64] {
            let all: Vec<_> = (0..words).map(|_| AtomicU64::new(0)).collect();
            all.leak()
        };
        Shadow::new(zeros(2 * PAGES_OF_TESTS), zeros(PAGES_OF_TESTS * GRANULES * GRANULE_WORDS))
    }

    const PAGES_OF_TESTS: usize = 4;

    fn cell(pe: usize, epoch: u32, access: Access) -> Cell {
        Cell { epoch, pe, access, bytes: 0, contents: 0, site: 10 * pe as u32 + epoch }
    }

    /// The sites and addresses of those that an access of PE 0's memory conflicts with.
    fn conflicts(shadow: &Shadow, bytes: (u64, usize), new: Cell) -> Vec<(u32, u64)> {
        let mut found = Vec::new();
        let clock = Clock::new(new.pe, 4);
        let had_room = shadow.access((0, bytes.0, bytes.1), new, &clock, &mut |cell, at| {
            found.push((cell.site, at));
        });
        assert!(had_room);
        found
    }

    #[test]
    fn accesses_of_the_same_bytes_conflict() {
        let shadow = shadow();
        let at = 0x10_0000;
        assert!(conflicts(&shadow, (at, 12), cell(1, 1, Access::Write)).is_empty());
        assert!(conflicts(&shadow, (at + 12, 4), cell(2, 1, Access::Write)).is_empty());
        let found = conflicts(&shadow, (at + 10, 4), cell(3, 1, Access::Read));
        assert_eq!(found, [(11, at + 10), (21, at + 12)]);
        shadow.clear((0, at, 16));
        assert!(conflicts(&shadow, (at, 16), cell(3, 2, Access::Write)).is_empty());
    }

    #[test]
    fn a_page_that_is_covered_has_its_cells_once_and_is_split_by_less() {
        let shadow = shadow();
        let at = 16 * PAGE as u64;
        assert!(conflicts(&shadow, (at, PAGE), cell(1, 1, Access::Put(Via::DEFAULT))).is_empty());
        let page = shadow.page(0, at, Make::No).unwrap();
        assert!(!page.is_split());
        drop(page);
        let found = conflicts(&shadow, (at + 804, 2), cell(2, 1, Access::Read));
        assert_eq!(found, [(11, at + 804)]);
        let page = shadow.page(0, at, Make::No).unwrap();
        assert!(page.is_split());
        drop(page);
        let found = conflicts(&shadow, (at, PAGE), cell(3, 1, Access::Read));
        assert!(found.iter().all(|(site, _)| *site == 11) && found.len() == GRANULES);
    }

    #[test]
    fn a_wait_sees_who_wrote_its_bytes_not_others_of_the_granule() {
        let shadow = shadow();
        let at = 0x20_0000;
        conflicts(&shadow, (at, 4), cell(1, 1, Access::Put(Via::DEFAULT)));
        conflicts(&shadow, (at + 4, 4), cell(2, 1, Access::Put(Via::DEFAULT)));
        let seen = shadow.seen((0, at, 4), 0);
        assert_eq!(seen.iter().map(|c| c.pe).collect::<Vec<_>>(), [1]);
        // What was seen is complete, the other put is not.
        let page = shadow.page(0, at, Make::No).unwrap();
        let mut left: Vec<_> = page.cells(0).into_iter().flatten().collect();
        left.sort_by_key(|cell| cell.pe);
        let left: Vec<_> = left.iter().map(|cell| cell.access).collect();
        assert_eq!(left, [Access::Write, Access::Put(Via::DEFAULT)]);
    }

    #[test]
    fn a_put_conflicts_with_what_its_pe_does_before_a_quiet() {
        const PUT: Access = Access::Put(Via::DEFAULT);
        let shadow = shadow();
        let at = 0x30_0000;
        let put = |contents, epoch| Cell { contents, ..cell(1, epoch, PUT) };
        assert!(conflicts(&shadow, (at, 8), put(7, 1)).is_empty());
        assert!(conflicts(&shadow, (at, 8), put(7, 2)).is_empty());
        assert_eq!(conflicts(&shadow, (at, 8), put(8, 3)), [(12, at)]);
        assert_eq!(conflicts(&shadow, (at, 4), cell(1, 4, Access::Read)), [(13, at)]);
        // It sees it itself.
        assert!(shadow.seen((0, at, 8), 1).is_empty());
        assert!(conflicts(&shadow, (at, 4), cell(1, 5, Access::Read)).is_empty());
    }

    #[test]
    fn without_room_for_a_page_an_access_is_refused() {
        let shadow = shadow();
        let clock = Clock::new(1, 4);
        let pages = (PAGES_OF_TESTS + 1) * PAGE;
        let new = cell(1, 1, Access::Write);
        assert!(!shadow.access((0, 0, pages), new, &clock, &mut |_, _| {}));
    }
}

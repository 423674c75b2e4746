//! A PE's inbox: a ring of cells in shared memory to which all PEs of the node write records, and from which its owner
//! takes them, in the order in which room was reserved.
//!
//! A record takes whole cells, one after the other, and begins with a word that names the lap of the ring, once all of
//! the record is written. A writer reserves cells by moving the tail; a record that would go round the end of the ring
//! is preceded by one that fills the rest. Data in the middle of a record may look like the first word of a record of
//! the next lap: the owner clears such words, and then moves the head. So no cell between tail and head begins with
//! the word of the lap that comes to it, and what a writer has not finished reads as "nothing there".
//!
//! The owner writes to hardly any record, and moves the head rarely: writers mostly find these lines in their caches,
//! or take them from the owner's without a second transfer.

/// Bytes of a cell.
pub const CELL: usize = 256;
/// Cells of an inbox.
pub const CELLS: usize = 1024;
/// In the first word of a record: its number of cells.
const SIZE: u64 = 0xffff;
/// In the first word of a record: it has no content.
const FILLS: u64 = 1 << 16;
/// Above it: the lap, from 1 on.
const LAP: u32 = 17;

/// The lap of a position, as it is in the first words of records.
#[inline]
fn lap(position: u64, count: usize) -> u64 {
    (position / count as u64 + 1) << LAP
}

/// Whether a word is the first one of a record at a position.
#[inline]
pub fn begins(word: u64, position: u64, count: usize) -> bool {
    word >> LAP << LAP == lap(position, count)
}

/// What the algorithm needs of an inbox's memory. The real one is shared; the model checker brings its own.
pub trait Cells {
    /// Number of cells.
    fn count(&self) -> usize;
    /// Reads the tail, in no order.
    fn tail(&self) -> u64;
    /// Moves the tail, in no order, if it is still `from`.
    fn move_tail(&self, from: u64, to: u64) -> bool;
    /// Reads the head, with acquire order.
    fn head(&self) -> u64;
    /// Moves the head, with release order.
    fn move_head(&self, to: u64);
    /// Reads the first word of a cell, with acquire order.
    fn first_word(&self, cell: usize) -> u64;
    /// Writes the first word of a cell, with release order.
    fn set_first_word(&self, cell: usize, word: u64);
    /// Writes zero there, in no order: as `move_head` does after it.
    fn clear(&self, cell: usize);
}

/// The word by which writers say that they want room. The real one is in shared memory; the model checker brings its
/// own.
pub trait RoomWord {
    /// Whether one wants room, in no order.
    fn is_wanted(&self) -> bool;
    /// Sets that, in no order; whether one did.
    fn want(&self, is_wanted: bool) -> bool;
    /// A sequentially consistent fence.
    fn fence(&self);
}

/// Writes a record by `push`, which says whether there was room. If not, says that room is wanted, and tries again:
/// with the fence in [`is_room_wanted`], the owner sees that, or this try sees the room that it has given.
#[inline]
pub fn push_or_want(word: &impl RoomWord, push: impl Fn() -> bool) -> bool {
    push() || {
        if !word.is_wanted() {
            word.want(true);
        }
        word.fence();
        push()
    }
}

/// The owner has moved the head: whether a writer that found no room is to be told.
pub fn is_room_wanted(word: &impl RoomWord) -> bool {
    word.fence();
    word.is_wanted() && word.want(false)
}

/// Reserves `n` cells side by side, at most an eighth of all; the position of the first one. None if there is no room
/// now.
#[inline]
pub fn reserve(cells: &impl Cells, n: usize) -> Option<u64> {
    let count = cells.count();
    debug_assert!(n <= count / 8);
    loop {
        let tail = cells.tail();
        let at = tail as usize % count;
        let rest = if at + n > count { count - at } else { 0 };
        let to = tail + (rest + n) as u64;
        // A tail that was read long ago may be below the head: moving it fails.
        if to.wrapping_sub(cells.head()) as i64 > count as i64 {
            return None;
        }
        if cells.move_tail(tail, to) {
            if rest > 0 {
                cells.set_first_word(at, lap(tail, count) | FILLS | rest as u64);
            }
            return Some(tail + rest as u64);
        }
    }
}

/// Hands a record of `n` cells over, which is all written but for its first word.
#[inline]
pub fn commit(cells: &impl Cells, position: u64, n: usize) {
    let count = cells.count();
    cells.set_first_word(position as usize % count, lap(position, count) | n as u64);
}

/// The owner's position.
#[derive(Debug)]
pub struct Reader {
    position: u64,
    moved: u64,
}

impl Reader {
    /// The position at which an owner has left its inbox.
    pub fn new(cells: &impl Cells) -> Self {
        let position = cells.head();
        Self { position, moved: position }
    }

    /// The position that is read next.
    #[inline]
    pub fn position(&self) -> u64 {
        self.position
    }

    fn cell(&self, cells: &impl Cells) -> usize {
        self.position as usize % cells.count()
    }

    /// The first cell of the next record, if it is there.
    #[inline]
    pub fn next(&mut self, cells: &impl Cells) -> Option<usize> {
        loop {
            let cell = self.cell(cells);
            let word = cells.first_word(cell);
            if !begins(word, self.position, cells.count()) {
                return None;
            }
            if word & FILLS == 0 {
                return Some(cell);
            }
            self.pass(cells, cell, word & SIZE);
        }
    }

    /// As [`next`](Self::next), with as many polls of the next cell as `again` allows if there is no record.
    #[inline(always)]
    pub fn poll(&mut self, cells: &impl Cells, mut again: impl FnMut() -> bool) -> Option<usize> {
        let (position, cell) = (self.position, self.cell(cells));
        loop {
            let word = cells.first_word(cell);
            if begins(word, position, cells.count()) {
                return match word & FILLS {
                    0 => Some(cell),
                    _ => self.next(cells),
                };
            }
            if !again() {
                return None;
            }
        }
    }

    /// Gives the cells of the next record back, which was read. Whether the writers have more room now.
    #[inline]
    pub fn release(&mut self, cells: &impl Cells) -> bool {
        let cell = self.cell(cells);
        let n = cells.first_word(cell) & SIZE;
        self.pass(cells, cell, n)
    }

    /// Gives `n` cells from `cell` on back. A store to each would take its line from the writers.
    #[inline]
    fn pass(&mut self, cells: &impl Cells, cell: usize, n: u64) -> bool {
        let in_next_lap = self.position + cells.count() as u64;
        for i in 1..n as usize {
            if begins(cells.first_word(cell + i), in_next_lap, cells.count()) {
                cells.clear(cell + i);
            }
        }
        self.advance(cells, n)
    }

    /// As [`release`](Self::release), of a record of one cell.
    #[inline(always)]
    pub fn release_cell(&mut self, cells: &impl Cells) -> bool {
        self.advance(cells, 1)
    }

    #[inline]
    fn advance(&mut self, cells: &impl Cells, n: u64) -> bool {
        self.position += n;
        let has_eighth = self.position - self.moved >= cells.count() as u64 / 8;
        if has_eighth {
            self.leave(cells);
        }
        has_eighth
    }

    /// Passes what writers have reserved from here on and will not finish: to the next record, or to `tail`, which was
    /// read before the last of the others finished theirs. Whether the writers have more room now. What such a writer
    /// has left in its cells is taken for a record only if its data look like the first word of one of this lap.
    pub fn pass_unfinished(&mut self, cells: &impl Cells, tail: u64) -> bool {
        let count = cells.count();
        let word = |position: u64| cells.first_word(position as usize % count);
        let next = (self.position + 1..tail).find(|at| begins(word(*at), *at, count)).unwrap_or(tail);
        for at in (self.position..next).filter(|at| begins(word(*at), at + count as u64, count)) {
            cells.clear(at as usize % count);
        }
        self.advance(cells, next - self.position)
    }

    /// Lets the writers have all that was read.
    pub fn leave(&mut self, cells: &impl Cells) {
        self.moved = self.position;
        cells.move_head(self.position);
    }
}

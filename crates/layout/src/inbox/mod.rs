//! Records: what PEs write to each other's inboxes.

pub mod cells;

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use ferroshmem_platform::prefetch_for_write;

use self::cells::{CELL, CELLS, Cells, RoomWord};

/// A PE's inbox, in the memory of the node's PEs.
#[repr(C, align(4096))]
pub struct Inbox {
    /// Cells reserved so far.
    tail: Line,
    /// Cells given back so far.
    head: Line,
    /// Bytes of messages that the owner keeps outside of the inbox, as no receive has matched them yet.
    kept: Line,
    /// 1 once a writer has found no room.
    wanted: Line,
    cells: InboxCells,
}

#[repr(C, align(256))]
struct Line(AtomicU64);

// From the words on: a PE that starts looks at the first cell, too, and touches one page.
#[repr(C, align(256))]
struct InboxCells(UnsafeCell<[u8; CELL * CELLS]>);

const _: () = assert!(std::mem::offset_of!(Inbox, cells) + CELL <= 4096);

// SAFETY: a place in shared memory that is only accessed through raw pointers, in the order of its first words.
unsafe impl Sync for InboxCells {}

impl Inbox {
    #[inline]
    fn cell(&self, cell: usize) -> *mut u8 {
        self.cells.0.get().cast::<u8>().wrapping_add(cell * CELL)
    }

    #[inline]
    fn word(&self, cell: usize) -> &AtomicU64 {
        debug_assert!(cell < CELLS);
        // SAFETY: the aligned first word of a cell, which is accessed atomically wherever it may be a record's first.
        unsafe { AtomicU64::from_ptr(self.cell(cell).cast()) }
    }

    /// Bytes of messages that the owner keeps.
    #[inline]
    pub fn kept(&self) -> u64 {
        self.kept.0.load(Ordering::Relaxed)
    }

    /// Sets it.
    pub fn set_kept(&self, bytes: u64) {
        self.kept.0.store(bytes, Ordering::Relaxed);
    }

    /// Whether a record begins at a position, which the owner reads next.
    #[inline]
    pub fn is_there(&self, position: u64) -> bool {
        let word = self.word(position as usize % CELLS);
        cells::begins(word.load(Ordering::Relaxed), position, CELLS)
    }

    /// The tail, if the record at a position, which the owner reads next, has begun and is not finished.
    pub fn unfinished(&self, position: u64) -> Option<u64> {
        let tail = self.tail.0.load(Ordering::Acquire);
        (tail > position && !self.is_there(position)).then_some(tail)
    }

    /// Writes a record; false if there is no room now.
    ///
    /// # Safety
    /// `data` is readable for `envelope.len` bytes, at most [`LONGEST`].
    pub unsafe fn push(&self, envelope: &Envelope, control: Option<&RendezvousControl>, data: *const u8) -> bool {
        let len = envelope.len as usize;
        let n = (envelope.kind.data_offset() + len).div_ceil(CELL);
        let Some(position) = cells::reserve(self, n) else {
            return false;
        };
        let at = self.cell(position as usize % CELLS);
        // SAFETY: the cells are reserved for this thread; the caller promises that `data` is readable.
        unsafe {
            at.add(8).cast::<[u64; 3]>().write(envelope.to_words());
            if let Some(control) = control {
                at.add(HEAD).cast::<RendezvousControl>().write(*control);
            }
            let to = at.add(envelope.kind.data_offset());
            match control {
                // One call of the C library is faster for an eager message, which the receiver cannot read meanwhile.
                Some(_) => copy_to_cells(to, data, len),
                None => to.copy_from_nonoverlapping(data, len),
            }
        }
        cells::commit(self, position, n);
        true
    }

    /// Writes the record of an eager message of at most [`SHORT`] bytes, to whose data `write` gets the address; false
    /// if there is no room now.
    #[inline(always)]
    pub fn push_line(&self, envelope: Envelope, write: impl FnOnce(*mut u8)) -> bool {
        let Some(position) = cells::reserve(self, 1) else {
            return false;
        };
        let at = self.cell(position as usize % CELLS);
        // SAFETY: the cell is reserved for this thread.
        unsafe {
            // As words: what is stored in parts cannot be loaded whole before all are in the cache.
            at.add(8).cast::<[u64; 3]>().write(envelope.to_words());
            write(at.add(HEAD));
        }
        cells::commit(self, position, 1);
        true
    }

    /// Takes the lines of a next record with so many bytes of data, which no PE has reserved, to this core, so that the
    /// next message need not wait for them. After a record of that length, once the owner has been notified.
    #[inline]
    pub fn prepare(&self, bytes: usize) {
        let first = self.tail.0.load(Ordering::Relaxed) as usize % CELLS * CELL;
        let cells = self.cells.0.get().cast::<u8>();
        for at in (0..HEAD + bytes).step_by(64) {
            prefetch_for_write(cells.wrapping_add((first + at) % (CELL * CELLS)));
        }
    }

    /// The envelope of the record at a cell, and where its data are if it is eager.
    ///
    /// # Safety
    /// The owner has found a record there, and does not release it while the result is used.
    #[inline(always)]
    pub unsafe fn envelope(&self, cell: usize) -> (Envelope, *const u8) {
        let at = self.cell(cell);
        // SAFETY: the caller promises a record, which no PE changes.
        let words = unsafe { at.add(8).cast::<[u64; 3]>().read() };
        let envelope = Envelope::from_words(words).expect("a record of this library");
        (envelope, at.wrapping_add(HEAD).cast_const())
    }

    /// The record at a cell.
    ///
    /// # Safety
    /// The owner has found a record there and not released it.
    #[inline]
    pub unsafe fn read(&self, cell: usize) -> Record {
        let at = self.cell(cell);
        // SAFETY: the caller promises a record.
        let (envelope, _) = unsafe { self.envelope(cell) };
        Record {
            envelope,
            control: at.wrapping_add(HEAD).cast(),
            data: at.wrapping_add(envelope.kind.data_offset()),
            remote: None,
        }
    }
}

/// Copies data to cells, whose lines the reader's core has: asks for them before they are stored to.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
unsafe fn copy_to_cells(dest: *mut u8, source: *const u8, bytes: usize) {
    /// Bytes that are asked for ahead: about as many lines as a core waits for at a time.
    const AHEAD: usize = 1024;

    for at in (0..bytes).step_by(AHEAD) {
        for line in (at + AHEAD..bytes.min(at + 2 * AHEAD)).step_by(64) {
            prefetch_for_write(dest.wrapping_add(line));
        }
        // SAFETY: the caller promises that the source is readable and the destination writable for `bytes` bytes.
        unsafe { dest.add(at).copy_from_nonoverlapping(source.add(at), AHEAD.min(bytes - at)) };
    }
}

/// Copies the data of an eager record.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub unsafe fn copy_eager(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that the source is readable and the destination writable for `bytes` bytes.
    unsafe {
        if bytes == 8 {
            // Many messages have a word; a call of the C library takes as long as all else.
            let word = source.cast::<u64>().read_unaligned();
            dest.cast::<u64>().write_unaligned(word);
        } else {
            dest.copy_from_nonoverlapping(source, bytes);
        }
    }
}

impl RoomWord for Inbox {
    fn is_wanted(&self) -> bool {
        self.wanted.0.load(Ordering::Relaxed) != 0
    }

    fn want(&self, is_wanted: bool) -> bool {
        self.wanted.0.swap(is_wanted.into(), Ordering::Relaxed) != 0
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl Cells for Inbox {
    fn count(&self) -> usize {
        CELLS
    }

    #[inline]
    fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Relaxed)
    }

    #[inline]
    fn move_tail(&self, from: u64, to: u64) -> bool {
        let (done, not) = (Ordering::Relaxed, Ordering::Relaxed);
        self.tail.0.compare_exchange(from, to, done, not).is_ok()
    }

    #[inline]
    fn head(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    #[inline]
    fn move_head(&self, to: u64) {
        self.head.0.store(to, Ordering::Release);
    }

    #[inline]
    fn first_word(&self, cell: usize) -> u64 {
        self.word(cell).load(Ordering::Acquire)
    }

    #[inline]
    fn set_first_word(&self, cell: usize, word: u64) {
        self.word(cell).store(word, Ordering::Release);
    }

    #[inline]
    fn clear(&self, cell: usize) {
        self.word(cell).store(0, Ordering::Relaxed);
    }
}

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum Kind {
    /// A message with its data. It has no [`RendezvousControl`].
    Eager,
    /// A message whose data the sender keeps, at `place` if that is symmetric, but for what is in the record.
    Ready,
    /// A message whose data the sender keeps, and lets this PE read: `place` and `request` are the address and the key
    /// of them. The key of a sender of this node is the address of its [token](crate::PeBlock::token).
    Exposed,
    /// To a sender: a receive has matched. `bytes` of the data go to `place`, if that is symmetric, else into records.
    Clear,
    /// To a receiver: data of its message, from byte `place` on.
    Fragment,
    /// To a receiver: the data are all there.
    Written,
    /// To a sender: the data have been read.
    Read,
    /// To a sender on another node: it may send fragments up to byte `bytes`.
    More,
    /// To a PE of another node: so many bytes of its messages are no longer kept for it.
    Credit,
}

impl Kind {
    /// All, by number.
    pub const ALL: [Self; 9] = [
        Self::Eager,
        Self::Ready,
        Self::Exposed,
        Self::Clear,
        Self::Fragment,
        Self::Written,
        Self::Read,
        Self::More,
        Self::Credit,
    ];

    /// The kind of a number.
    #[inline]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Where in a record the data begin.
    #[inline]
    fn data_offset(self) -> usize {
        match self {
            Self::Eager => HEAD,
            _ => HEAD + size_of::<RendezvousControl>(),
        }
    }
}

/// What a record begins with, after its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Envelope {
    /// What it is.
    pub kind: Kind,
    /// Id of the team.
    pub team: u16,
    /// The sender's number in the team.
    pub source: u32,
    /// The tag.
    pub tag: i32,
    /// Bytes of data in the record.
    pub len: u32,
    /// Bytes of the message.
    pub bytes: u64,
}

impl Envelope {
    /// The words of it, as they travel.
    #[inline]
    pub fn to_words(self) -> [u64; 3] {
        [
            u64::from(self.kind as u16) | u64::from(self.team) << 16 | u64::from(self.source) << 32,
            u64::from(self.tag as u32) | u64::from(self.len) << 32,
            self.bytes,
        ]
    }

    /// What [`to_words`](Self::to_words) was of, if any.
    #[inline]
    pub fn from_words([first, second, bytes]: [u64; 3]) -> Option<Self> {
        Some(Self {
            kind: Kind::from_number(first as u16)?,
            team: (first >> 16) as u16,
            source: (first >> 32) as u32,
            tag: second as i32,
            len: (second >> 32) as u32,
            bytes,
        })
    }
}

/// A record that has come.
#[derive(Debug, Clone, Copy)]
pub struct Record {
    /// What it begins with.
    pub envelope: Envelope,
    /// Its control part, unless it is eager.
    pub control: *const RendezvousControl,
    /// Its data, as long as the envelope says.
    pub data: *const u8,
    /// The PE of another node that it is from.
    pub remote: Option<u32>,
}

/// What sender and receiver tell each other of a message whose data the sender keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RendezvousControl {
    /// The request, of the PE that the record is for.
    pub request: u64,
    /// The request, of the PE that it is from.
    pub reply: u64,
    /// See [`Kind`].
    pub place: u64,
    /// Number of the PE that it is from, in the world.
    pub from: u64,
}

/// Bytes before the control part, or the data of a record without one.
const HEAD: usize = 8 + size_of::<Envelope>();
/// Most bytes of data of an eager record of one cell.
pub const SHORT: usize = CELL - HEAD;
/// Most bytes of data of a record.
pub const LONGEST: usize = CELLS / 8 * CELL - HEAD - size_of::<RendezvousControl>();

const _: () = {
    assert!(size_of::<Inbox>().is_multiple_of(4096));
    assert!(HEAD == 32);
};

#[cfg(test)]
mod tests {
    use std::alloc::{Layout, alloc_zeroed};

    use super::cells::Reader;
    use super::*;

    /// Data that look like the first words of the next lap's records are not taken for these, wherever records begin.
    #[test]
    fn data_are_no_records() {
        let layout = Layout::new::<Inbox>();
        // SAFETY: an inbox is not of size zero; zeros are an empty one.
        let inbox = unsafe { Box::from_raw(alloc_zeroed(layout).cast::<Inbox>()) };
        let mut reader = Reader::new(&*inbox);
        for i in 0..4 * CELLS {
            let len = i * 7919 % LONGEST / 8 * 8;
            let of_next_lap = (inbox.tail() / CELLS as u64 + 2) << 17 | 1;
            let data = vec![of_next_lap; len / 8];
            let (kind, len) = (Kind::Eager, len as u32);
            let envelope = Envelope { kind, team: 0, source: 0, tag: i as i32, len, bytes: u64::from(len) };
            // SAFETY: the data are as long as the envelope says.
            assert!(unsafe { inbox.push(&envelope, None, data.as_ptr().cast()) });
            let cell = reader.next(&*inbox).expect("a record");
            // SAFETY: a record is there.
            assert_eq!(unsafe { inbox.read(cell) }.envelope, envelope);
            reader.release(&*inbox);
            assert_eq!(reader.next(&*inbox), None);
        }
    }

    /// What failed writers have reserved is passed, wherever the ring ends: to the next record, or to the tail; and
    /// what they have left there is taken for no record of the next lap.
    #[test]
    fn unfinished_records_are_passed() {
        let layout = Layout::new::<Inbox>();
        // SAFETY: an inbox is not of size zero; zeros are an empty one.
        let inbox = unsafe { Box::from_raw(alloc_zeroed(layout).cast::<Inbox>()) };
        let mut reader = Reader::new(&*inbox);
        let of_next_lap = |position: u64| (position / CELLS as u64 + 2) << 17 | 1;
        for i in 0..8 * CELLS {
            // One to three failed writers, which have got as far as their data, and then perhaps another one.
            for n in [1 + i * 31 % 100, 1 + i % 3, 1 + i * 7 % 50].into_iter().take(1 + i % 3) {
                let position = cells::reserve(&*inbox, n).expect("room");
                (0..n).for_each(|k| inbox.set_first_word((position as usize + k) % CELLS, of_next_lap(position)));
            }
            assert_eq!(reader.next(&*inbox), None);
            let tail = inbox.unfinished(reader.position()).expect("an unfinished record");
            assert_eq!(tail, inbox.tail());
            let envelope = Envelope { kind: Kind::Eager, team: 0, source: 0, tag: i as i32, len: 0, bytes: 0 };
            // SAFETY: no data.
            assert!(i % 2 == 0 || unsafe { inbox.push(&envelope, None, std::ptr::null()) });
            while reader.next(&*inbox).is_none() && inbox.unfinished(reader.position()).is_some() {
                reader.pass_unfinished(&*inbox, tail);
            }
            if i % 2 == 1 {
                let cell = reader.next(&*inbox).expect("a record");
                // SAFETY: a record is there.
                assert_eq!(unsafe { inbox.read(cell) }.envelope, envelope);
                reader.release(&*inbox);
            }
            assert_eq!(reader.next(&*inbox), None);
            assert_eq!(reader.position(), inbox.tail());
        }
    }
}

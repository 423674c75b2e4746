//! What a PE requests of another: an atomic operation, a few bytes, or that it stores some.
//!
//! Items come from peers: [`Item::take`] refuses what no PE sends.

use std::sync::atomic::{
    AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    Ordering::{Release, SeqCst},
};

use crate::{AtomicOp, Op, TaggedMessage, Width};

/// Bytes of a reply.
pub(crate) type Reply = [u8; TaggedMessage::BYTES];

/// What is to be done with some memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// An atomic operation without a result.
    Post(AtomicOp),
    /// An atomic operation; the result is what the word was before.
    Fetch(AtomicOp),
    /// The result is as many bytes as they are.
    Read(usize),
}

/// What a PE requests, as its target reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item<'m> {
    /// An operation or a read.
    Request(Request),
    /// The bytes of a put.
    Put(&'m [u8]),
    /// Bytes for the owner of the target's fabric.
    Record(&'m [u8]),
}

/// Memory of a target: a segment's number, and bytes from its base.
pub(crate) type SegmentAddress = (usize, usize);

/// The first word of an item: from bit 0 on the number of the operation, whether there is no result, the
/// segment, the length of the memory in bytes, and its offset. Operands, or the bytes of a put, follow in
/// words of their own.
#[derive(Clone, Copy)]
struct Head(u64);

const WORD: usize = size_of::<u64>();
const POSTED: u64 = 1 << 4;
const SEGMENT: u32 = 5;
const LENGTH: u32 = 8;
const OFFSET: u32 = 20;

/// Numbers of what is no atomic operation.
const READ: u64 = OPS.len() as u64;
const PUT: u64 = READ + 1;
const RECORD: u64 = PUT + 1;
/// An addition of a [`Small`] number, without a result: most of what histograms send.
const COUNT: u64 = RECORD + 1;

impl Head {
    fn new(op: u64, (segment, offset): SegmentAddress, len: usize) -> Head {
        Head(op | (segment as u64) << SEGMENT | (len as u64) << LENGTH | (offset as u64) << OFFSET)
    }

    fn op(self) -> u64 {
        self.0 & (POSTED - 1)
    }

    fn len(self) -> usize {
        (self.0 >> LENGTH) as usize & MOST_BYTES
    }

    fn place(self) -> SegmentAddress {
        let segment = (self.0 >> SEGMENT) as usize & MOST_SEGMENTS;
        (segment, (self.0 >> OFFSET) as usize)
    }
}

/// A number that an item has in its first word, in place of the memory's length: of 12 bits, with a sign. The bit that
/// says elsewhere that there is no result says that the memory has 8 bytes, not 4.
struct Small;

impl Small {
    /// The operand as the length of an item. None: it is too large.
    #[inline]
    fn encode(width: Width, operand: u64) -> Option<usize> {
        let len = operand as usize & MOST_BYTES;
        (Small::decode(width, len) == operand).then_some(len)
    }

    #[inline]
    fn decode(width: Width, len: usize) -> u64 {
        let unused = u64::BITS - (OFFSET - LENGTH);
        let number = ((len as i64) << unused) >> unused;
        match width {
            Width::W64 => number as u64,
            Width::W32 => (number as u32).into(),
        }
    }
}

const MOST_SEGMENTS: usize = (1 << (LENGTH - SEGMENT)) - 1;
const MOST_BYTES: usize = (1 << (OFFSET - LENGTH)) - 1;

/// Most bytes of a put: whole words that an item can count.
pub(crate) const LONGEST_PUT: usize = MOST_BYTES & !(WORD - 1);

/// Whether an item can say where this memory is.
pub(crate) fn is_within_reach((segment, offset): SegmentAddress, len: usize) -> bool {
    segment <= MOST_SEGMENTS && len <= MOST_BYTES && offset < 1 << (u64::BITS - OFFSET)
}

const OPS: [Op; 8] = [Op::Write, Op::Read, Op::Swap, Op::CompareSwap, Op::Add, Op::And, Op::Or, Op::Xor];

/// Operands of an operation.
fn operands(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::CompareSwap => 2,
        _ => 1,
    }
}

/// Appends a put to a message's items, or to the last of them, if that is a put and ends where this one begins.
pub(crate) fn append_put(message: &mut Vec<u8>, last: &mut LastPut, at: SegmentAddress, data: &[u8]) {
    if last.end == at
        && let Some(head) = message.get_mut(last.at..).and_then(<[u8]>::first_chunk_mut)
    {
        let before = Head(u64::from_ne_bytes(*head));
        let len = before.len() + data.len();
        if len <= MOST_BYTES {
            let whole = Head::new(PUT, before.place(), len);
            *head = whole.0.to_ne_bytes();
            *last = LastPut::new(last.at, whole);
            message.truncate(message.len() - padding(before.len()));
            return append_padded(message, data, len);
        }
    }
    let head = Head::new(PUT, at, data.len());
    *last = LastPut::new(message.len(), head);
    message.extend_from_slice(&head.0.to_ne_bytes());
    append_padded(message, data, data.len());
}

/// Appends a record, of two parts, to a message's items.
pub(crate) fn append_record(message: &mut Vec<u8>, parts: [&[u8]; 2]) {
    let len = parts[0].len() + parts[1].len();
    // It is about no memory: its length takes the place of an offset, as it may be longer than a put.
    let head = Head::new(RECORD, (0, len), 0);
    message.extend_from_slice(&head.0.to_ne_bytes());
    message.extend_from_slice(parts[0]);
    append_padded(message, parts[1], len);
}

/// An item of one or two words: a put of up to a word, or an operation with one operand.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    head: Head,
    word: u64,
    /// Bytes of both.
    bytes: usize,
}

impl Short {
    /// Bytes of memory that it is about, at most.
    pub(crate) const LONGEST: usize = WORD;

    /// A put of so many bytes, at most [`LONGEST`](Self::LONGEST).
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    #[inline]
    pub(crate) unsafe fn put(place: SegmentAddress, from: *const u8, len: usize) -> Short {
        // SAFETY: the caller promises as many bytes.
        let word = unsafe {
            match len {
                8 => from.cast::<u64>().read_unaligned(),
                4 => from.cast::<u32>().read_unaligned().into(),
                _ => {
                    let mut bytes = [0; WORD];
                    from.copy_to_nonoverlapping(bytes.as_mut_ptr(), len);
                    u64::from_ne_bytes(bytes)
                }
            }
        };
        Short { head: Head::new(PUT, place, len), word, bytes: 2 * WORD }
    }

    /// An operation, if it has one operand.
    #[inline(always)] // so that it is no more than a word where the operation is known
    pub(crate) fn request(request: Request, place: SegmentAddress) -> Option<Short> {
        let ([head, word, _], n) = request.words(place);
        (n <= 2).then_some(Short { head: Head(head), word, bytes: n * WORD })
    }

    /// Appends it to a message's items, as [`append_put`] does, if it takes no more than this many bytes.
    #[inline]
    pub(crate) fn append(self, message: &mut Vec<u8>, last: &mut LastPut, capacity: usize) -> bool {
        let at = message.len();
        if at + 2 * WORD > capacity.min(message.capacity()) {
            return false;
        }
        if self.head.op() != PUT {
            *last = LastPut::NONE;
        } else if last.end == self.head.place() {
            return self.join(message, last);
        } else {
            *last = LastPut::new(at, self.head);
        }
        // SAFETY: there is room for two words.
        unsafe {
            let to = message.as_mut_ptr().add(at).cast::<[u64; 2]>();
            to.write_unaligned([self.head.0, self.word]);
            message.set_len(at + self.bytes);
        }
        true
    }

    /// Makes a put a part of the last item, which ends where it begins, if it fits into that item's last word or
    /// begins a word.
    #[inline]
    fn join(self, message: &mut Vec<u8>, last: &mut LastPut) -> bool {
        let Some(head) = message.get_mut(last.at..).and_then(<[u8]>::first_chunk_mut) else {
            return false;
        };
        let before = Head(u64::from_ne_bytes(*head));
        let (len, more) = (before.len(), self.head.len());
        if len + more > MOST_BYTES || len % WORD + more > WORD {
            return false;
        }
        let whole = Head::new(PUT, before.place(), len + more);
        *head = whole.0.to_ne_bytes();
        let (word, begin) = (self.word.to_ne_bytes(), last.at + WORD + len);
        *last = LastPut::new(last.at, whole);
        match message.get_mut(begin..begin + more) {
            Some(rest) => rest.copy_from_slice(&word[..more]),
            None => message.extend_from_slice(&word),
        }
        true
    }
}

/// The last item of a message, if that is a put.
#[derive(Clone, Copy)]
pub(crate) struct LastPut {
    /// Where in the message its head is.
    at: usize,
    /// Where the next put may begin that is a part of it; a segment that does not exist: none.
    end: SegmentAddress,
}

impl Default for LastPut {
    fn default() -> LastPut {
        LastPut::NONE
    }
}

impl LastPut {
    pub(crate) const NONE: LastPut = LastPut { at: 0, end: (usize::MAX, 0) };

    #[inline]
    fn new(at: usize, head: Head) -> LastPut {
        let (segment, offset) = head.place();
        let end = (segment, offset + head.len());
        LastPut { at, end }
    }
}

/// Bytes that follow so many to the end of a word.
fn padding(len: usize) -> usize {
    len.wrapping_neg() % WORD
}

fn append_padded(message: &mut Vec<u8>, data: &[u8], len: usize) {
    message.extend_from_slice(data);
    message.extend_from_slice(&[0; WORD][..padding(len)]);
}

/// Bytes that a put of `len` bytes takes in a message, at most.
pub(crate) fn put_bytes(len: usize) -> usize {
    WORD + len.next_multiple_of(WORD)
}

impl<'m> Item<'m> {
    /// Takes an item from the beginning of `message`, and the place that it is about. None: it is malformed.
    #[inline]
    pub(crate) fn take(message: &mut &'m [u8]) -> Option<(Item<'m>, SegmentAddress)> {
        let mut word = || {
            let (word, rest) = message.split_first_chunk()?;
            *message = rest;
            Some(u64::from_ne_bytes(*word))
        };
        let head = Head(word()?);
        let (len, place, posted) = (head.len(), head.place(), head.0 & POSTED != 0);
        let item = match OPS.get(head.op() as usize) {
            Some(&op) => {
                let width = match len {
                    4 => Width::W32,
                    8 => Width::W64,
                    _ => return None,
                };
                if !place.1.is_multiple_of(len) {
                    return None;
                }
                let mut atomic = AtomicOp::new(op, width, 0);
                if operands(op) > 0 {
                    atomic.operand = word()?;
                }
                if operands(op) > 1 {
                    atomic.compare = word()?;
                }
                Item::Request(if posted { Request::Post(atomic) } else { Request::Fetch(atomic) })
            }
            None if head.op() == COUNT => {
                let width = if posted { Width::W64 } else { Width::W32 };
                if !place.1.is_multiple_of(width.bytes()) {
                    return None;
                }
                let operand = Small::decode(width, len);
                Item::Request(Request::Post(AtomicOp::new(Op::Add, width, operand)))
            }
            None if posted => return None,
            None if head.op() == READ && len <= Request::LONGEST => Item::Request(Request::Read(len)),
            None if head.op() == PUT && len > 0 => {
                let (data, rest) = message.split_at_checked(len.next_multiple_of(WORD))?;
                *message = rest;
                Item::Put(&data[..len])
            }
            None if head.op() == RECORD && len == 0 && place.0 == 0 && place.1 > 0 => {
                let len = place.1;
                let (data, rest) = message.split_at_checked(len.next_multiple_of(WORD))?;
                *message = rest;
                Item::Record(&data[..len])
            }
            None => return None,
        };
        Some((item, place))
    }

    /// A place that one of the next items may be about, so that its memory can be prefetched: what is in the message at
    /// a distance may be no head.
    #[inline]
    pub(crate) fn ahead(message: &[u8]) -> Option<SegmentAddress> {
        const DISTANCE: usize = 8 * WORD;
        let word = message.get(DISTANCE..)?.first_chunk()?;
        Some(Head(u64::from_ne_bytes(*word)).place())
    }

    /// Appends it to a message's items.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn append(self, message: &mut Vec<u8>, place: SegmentAddress) {
        match self {
            Item::Request(request) => request.append(message, place),
            Item::Put(data) => append_put(message, &mut { LastPut::NONE }, place, data),
            Item::Record(data) => append_record(message, [data, &[]]),
        }
    }

    /// Bytes of memory that it is about, or of the record.
    pub(crate) fn len(&self) -> usize {
        match self {
            Item::Request(request) => request.len(),
            Item::Put(data) | Item::Record(data) => data.len(),
        }
    }
}

/// Stores bytes as PEs of the node do: words at once, and one after the other.
///
/// # Safety
/// The memory at `to` is writable for as many bytes as `data` has.
pub(crate) unsafe fn store(to: *mut u8, data: &[u8]) {
    macro_rules! put {
        ($atomic:ty, $at:expr, $rest:expr) => {{
            let (bytes, rest) = $rest.split_first_chunk().expect("as long as the piece");
            // SAFETY: the caller promises that the memory is writable; the piece is aligned.
            let word = unsafe { <$atomic>::from_ptr($at.cast()) };
            let _: &[u8; size_of::<$atomic>()] = bytes;
            word.store(bytemuck::must_cast(*bytes), Release);
            $rest = rest;
        }};
    }
    let mut rest = data;
    while !rest.is_empty() {
        // SAFETY: within the memory, whose end is that of `data`.
        let at = unsafe { to.add(data.len() - rest.len()) };
        // The longest piece that is aligned and not too long.
        match at.addr().trailing_zeros().min(rest.len().ilog2()) {
            0 => put!(AtomicU8, at, rest),
            1 => put!(AtomicU16, at, rest),
            2 => put!(AtomicU32, at, rest),
            _ => put!(AtomicU64, at, rest),
        }
    }
}

impl Request {
    /// Longest memory in bytes.
    pub(crate) const LONGEST: usize = TaggedMessage::BYTES;

    /// Bytes of memory that it is about.
    pub(crate) fn len(&self) -> usize {
        match *self {
            Request::Post(atomic) | Request::Fetch(atomic) => atomic.width.bytes(),
            Request::Read(len) => len,
        }
    }

    /// Bytes of the result.
    pub(crate) fn result_len(&self) -> usize {
        match self {
            Request::Post(_) => 0,
            _ => self.len(),
        }
    }

    /// The request as an item: its words, and how many there are.
    #[inline]
    fn words(self, place: SegmentAddress) -> ([u64; 3], usize) {
        if let Request::Post(AtomicOp { op: Op::Add, width, operand, .. }) = self
            && let Some(len) = Small::encode(width, operand)
        {
            let wide = if width == Width::W64 { POSTED } else { 0 };
            return ([Head::new(COUNT | wide, place, len).0, 0, 0], 1);
        }
        let number = |op| OPS.iter().position(|other| *other == op).unwrap_or(0) as u64;
        let (op, atomic) = match self {
            Request::Post(atomic) => (number(atomic.op) | POSTED, atomic),
            Request::Fetch(atomic) => (number(atomic.op), atomic),
            Request::Read(_) => (READ, AtomicOp::read(Width::W64)),
        };
        let head = Head::new(op, place, self.len()).0;
        let AtomicOp { operand, compare, .. } = atomic;
        ([head, operand, compare], 1 + operands(atomic.op))
    }

    /// Appends the request to a message's items.
    #[inline]
    pub(crate) fn append(self, message: &mut Vec<u8>, place: SegmentAddress) {
        let (words, n) = self.words(place);
        message.extend_from_slice(bytemuck::must_cast_slice(&words[..n]));
    }

    /// The request as it lies in a slot, with its number.
    pub(crate) fn to_frame(self, place: SegmentAddress, sequence: u32) -> Reply {
        let ([head, operand, compare], _) = self.words(place);
        bytemuck::must_cast([sequence.into(), head, operand, compare])
    }

    /// The request in a slot, and the place that it is about. None: the frame is malformed.
    pub(crate) fn from_frame(frame: Reply) -> Option<(Request, SegmentAddress)> {
        match Item::take(&mut &frame[WORD..])? {
            (Item::Request(request), place) => Some((request, place)),
            (Item::Put(_) | Item::Record(_), _) => None,
        }
    }

    /// The number of the request message that a frame in a slot says.
    pub(crate) fn sequence(frame: Reply) -> u32 {
        let [number, ..]: [u64; 4] = bytemuck::must_cast(frame);
        number as u32
    }

    /// Does what is requested.
    ///
    /// # Safety
    /// The memory at `at` is as long as the request says, and words are aligned to their size. Other
    /// threads use such words meanwhile by atomic operations only.
    pub(crate) unsafe fn execute(&self, at: *mut u8) -> Reply {
        let mut reply = [0; TaggedMessage::BYTES];
        let word = match *self {
            Request::Post(AtomicOp { op, width: Width::W64, operand, compare })
            | Request::Fetch(AtomicOp { op, width: Width::W64, operand, compare }) => {
                // SAFETY: the caller promises an aligned word that is used atomically.
                let word = unsafe { AtomicU64::from_ptr(at.cast()) };
                wide(word, op, operand, compare)
            }
            Request::Post(AtomicOp { op, width: Width::W32, operand, compare })
            | Request::Fetch(AtomicOp { op, width: Width::W32, operand, compare }) => {
                // SAFETY: the caller promises an aligned word that is used atomically.
                let word = unsafe { AtomicU32::from_ptr(at.cast()) };
                narrow(word, op, operand as u32, compare as u32).into()
            }
            Request::Read(len) => {
                // SAFETY: the caller promises that there are `len` bytes; a reply has room.
                unsafe { std::ptr::copy_nonoverlapping(at, reply.as_mut_ptr(), len) };
                return reply;
            }
        };
        reply[..size_of::<u64>()].copy_from_slice(&word.to_ne_bytes());
        reply
    }
}

macro_rules! on_word {
    ($name:ident, $atomic:ty, $word:ty) => {
        fn $name(word: &$atomic, op: Op, operand: $word, compare: $word) -> $word {
            match op {
                Op::Write | Op::Swap => word.swap(operand, SeqCst),
                Op::Read => word.load(SeqCst),
                Op::CompareSwap => {
                    word.compare_exchange(compare, operand, SeqCst, SeqCst).unwrap_or_else(|other| other)
                }
                Op::Add => word.fetch_add(operand, SeqCst),
                Op::And => word.fetch_and(operand, SeqCst),
                Op::Or => word.fetch_or(operand, SeqCst),
                Op::Xor => word.fetch_xor(operand, SeqCst),
            }
        }
    };
}

on_word!(wide, AtomicU64, u64);
on_word!(narrow, AtomicU32, u32);

#[cfg(test)]
mod tests;

//! The ring between two PEs of a node: one writes items, the other reads them.
//!
//! The writer appends *blocks*, each a word with the items' source and their number, then the items. A block does not
//! go round the end of the ring; a zero word says that the rest of the ring is not used. The writer publishes blocks by
//! moving the tail, the reader gives room back by moving the head.
//!
//! # Which rings have news
//!
//! A reader with a thousand rings does not look at each. A writer that moves the tail puts its ring on the reader's
//! list of *ready* rings, unless it is on it. The reader takes the whole list, marks each ring as off the list, and
//! only then reads its tail. With the two fences, one of two things holds: the reader sees the new tail, or the writer
//! sees that the ring is off the list and puts it there again. The list is a stack whose words are swapped out as a
//! whole, so no word of it is reused while another PE holds it.

use std::ptr;
use std::sync::atomic::Ordering;

use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};

/// The shared words of a ring.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct RingWords<A: Atomics = Std> {
    /// Bytes written so far.
    tail: A::U64,
    /// The ring after this one on the list: its number and 1; 0: none.
    next: A::U32,
    /// Whether the ring is on its reader's list.
    is_queued: A::U32,
    head: Head<A>,
}

/// Bytes read so far.
#[repr(C, align(64))]
#[derive(Debug, Default)]
struct Head<A: Atomics>(A::U64);

/// The first word of a reader's list: number of the first ready ring, and 1; 0: there is none.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct ReadyWord<A: Atomics = Std>(A::U32);

impl<A: Atomics> RingWords<A> {
    /// Moves the tail of ring `number`; whether its reader is to be woken.
    #[inline]
    pub fn publish(&self, ready: &ReadyWord<A>, number: u32, tail: u64) -> bool {
        self.tail.store(tail, Ordering::Release);
        A::fence(Ordering::SeqCst);
        if self.is_queued.load(Ordering::Relaxed) != 0 || self.is_queued.swap(1, Ordering::AcqRel) != 0 {
            return false;
        }
        let put_before = |first| {
            self.next.store(first, Ordering::Relaxed);
            Some(number + 1)
        };
        let _ = ready.0.fetch_update(Ordering::Release, Ordering::Relaxed, put_before);
        true
    }

    /// Bytes written so far.
    #[inline]
    pub fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Whether a ring of so many bytes has room up to `end`; `head` is as the writer read it last.
    #[inline]
    pub fn has_room(&self, bytes: usize, head: &mut u64, end: u64) -> bool {
        let size = bytes as u64;
        if end - *head <= size {
            return true;
        }
        *head = self.head.0.load(Ordering::Acquire);
        end - *head <= size
    }

    /// Lets the writer have what was read before `position`, if that is more than so many bytes; `head` is as last set.
    #[inline]
    pub fn give_back(&self, head: &mut u64, position: u64, bytes: u64) {
        if position - *head > bytes {
            *head = position;
            self.head.0.store(position, Ordering::Release);
        }
    }
}

/// Takes the list of ready rings, and calls `found` with the number of each. Their tails are to be read after.
#[inline]
pub fn take_ready<'w, A: Atomics>(
    ready: &ReadyWord<A>,
    words: impl Fn(u32) -> &'w RingWords<A>,
    mut found: impl FnMut(u32),
) {
    if ready.0.load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut next = ready.0.swap(0, Ordering::Acquire);
    while next != 0 {
        let number = next - 1;
        let ring = words(number);
        next = ring.next.load(Ordering::Relaxed);
        ring.is_queued.store(0, Ordering::Release);
        found(number);
    }
    A::fence(Ordering::SeqCst);
}

/// Bytes of the word before a block's items, to whose multiples blocks are padded.
const WORD: u64 = size_of::<u64>() as u64;

fn padded(position: u64) -> u64 {
    position.next_multiple_of(WORD)
}

/// Copies an item.
///
/// # Safety
/// `to` is writable and `from` readable for `size` bytes, and they do not overlap.
#[inline]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller promises that source and destination are valid for `size` bytes.
    unsafe {
        match size {
            // Without a call of memcpy.
            8 => to.cast::<u64>().write_unaligned(from.cast::<u64>().read_unaligned()),
            16 => to.cast::<[u64; 2]>().write_unaligned(from.cast::<[u64; 2]>().read_unaligned()),
            _ => ptr::copy_nonoverlapping(from, to, size),
        }
    }
}

/// Where a ring is.
#[derive(Debug, Clone, Copy)]
pub struct RingMemory {
    /// Its words.
    pub words: &'static RingWords,
    /// Its bytes.
    pub data: *mut u8,
    /// How many: a power of two.
    pub bytes: usize,
}

/// Whether an item has found room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// It has.
    Yes,
    /// It has, and what is not published is so much that it should be.
    YesPublish,
    /// It has not.
    Full,
}

/// The writer's side.
#[derive(Debug)]
pub struct Producer {
    ring: RingMemory,
    /// Where the next item goes.
    position: u64,
    /// Where the open block's word is.
    open: u64,
    /// Items of the open block; 0: none is open.
    count: u32,
    /// Source of those.
    source: u32,
    /// The head as it was last read.
    head: u64,
    published: u64,
    /// From where on it is time to publish.
    enough: u64,
    /// Whether the owner remembers that something is to be published.
    pub is_dirty: bool,
}

impl Producer {
    /// Of an empty ring.
    pub fn new(ring: RingMemory) -> Self {
        Self {
            ring,
            position: 0,
            open: 0,
            count: 0,
            source: 0,
            head: 0,
            published: 0,
            enough: Self::batch(ring.bytes),
            is_dirty: false,
        }
    }

    /// Bytes that are published together: the reader has begun to read before the writer finds the ring full.
    fn batch(ring: usize) -> u64 {
        (ring as u64 / 8).min(8 << 10)
    }

    #[inline]
    fn at(&self, position: u64) -> *mut u8 {
        let offset = position as usize & (self.ring.bytes - 1);
        self.ring.data.wrapping_add(offset)
    }

    #[inline]
    fn to_end(&self, position: u64) -> u64 {
        self.ring.bytes as u64 - (position & (self.ring.bytes as u64 - 1))
    }

    #[inline]
    fn has_room(&mut self, end: u64) -> bool {
        self.ring.words.has_room(self.ring.bytes, &mut self.head, end)
    }

    #[inline]
    fn pushed(&self) -> Pushed {
        if self.position >= self.enough { Pushed::YesPublish } else { Pushed::Yes }
    }

    /// Appends an item.
    ///
    /// # Safety
    /// `item` is readable for `size` bytes, of which four and their words fit into the ring.
    #[inline]
    pub unsafe fn push(&mut self, item: *const u8, size: usize, source: u32) -> Pushed {
        let begin = self.position;
        let end = begin + size as u64;
        // The end of the ring is a block's end, too.
        let goes_on = begin & (self.ring.bytes as u64 - 1) != 0 && self.to_end(begin) >= size as u64;
        if self.count == 0 || self.source != source || !goes_on {
            // SAFETY: the caller promises that `item` is readable for `size` bytes.
            return unsafe { self.push_block(item, size, source) };
        }
        if !self.has_room(end) {
            return Pushed::Full;
        }
        // SAFETY: the caller promises the item; the place is within the ring, and was given back.
        unsafe { copy(item, self.at(begin), size) };
        self.position = end;
        self.count += 1;
        self.pushed()
    }

    /// As [`push`](Self::push), in a block of its own.
    #[inline(never)]
    unsafe fn push_block(&mut self, item: *const u8, size: usize, source: u32) -> Pushed {
        self.close();
        let need = WORD + size as u64;
        let rest = self.to_end(self.position);
        let skip = if rest < need { rest } else { 0 };
        let open = self.position + skip;
        if !self.has_room(open + need) {
            return Pushed::Full;
        }
        // SAFETY: the places are within the ring, aligned for a word, and were given back.
        unsafe {
            if skip > 0 {
                self.at(self.position).cast::<u64>().write(0);
            }
            copy(item, self.at(open + WORD), size);
        }
        (self.open, self.position) = (open, open + need);
        (self.count, self.source) = (1, source);
        self.pushed()
    }

    /// Appends as many of `n` items as fit behind the last one, until it is time to publish; how many.
    ///
    /// # Safety
    /// As for [`push`](Self::push), for each.
    pub unsafe fn push_more(&mut self, items: *const u8, size: usize, n: usize) -> usize {
        let begin = self.position;
        if self.count == 0 || begin & (self.ring.bytes as u64 - 1) == 0 {
            return 0;
        }
        let room = self.head + self.ring.bytes as u64 - begin;
        let bytes = room.min(self.to_end(begin)).min(self.enough.saturating_sub(begin));
        let n = n.min(bytes as usize / size);
        // SAFETY: the caller promises the items; the place is within the ring, and was given back.
        unsafe { ptr::copy_nonoverlapping(items, self.at(begin), n * size) };
        self.position += (n * size) as u64;
        self.count += n as u32;
        n
    }

    /// Ends the open block.
    fn close(&mut self) {
        if self.count > 0 {
            let word = u64::from(self.count) << 32 | u64::from(self.source);
            // SAFETY: within the ring, aligned, and reserved for it.
            unsafe { self.at(self.open).cast::<u64>().write(word) };
            self.position = padded(self.position);
            self.count = 0;
        }
    }

    /// Lets the reader have all items; whether it is to be woken.
    #[inline]
    pub fn publish(&mut self, ready: &ReadyWord, number: u32) -> bool {
        self.close();
        if self.position == self.published {
            return false;
        }
        self.published = self.position;
        self.enough = self.position + Self::batch(self.ring.bytes);
        self.ring.words.publish(ready, number, self.position)
    }
}

/// The reader's side.
#[derive(Debug)]
pub struct Consumer {
    ring: RingMemory,
    /// Where the next item is.
    position: u64,
    /// The tail as it was last read.
    tail: u64,
    /// The head as it was last set.
    head: u64,
    /// Items of the block that are left.
    pub left: u32,
    /// Their source.
    pub source: u32,
}

impl Consumer {
    /// Of an empty ring.
    pub fn new(ring: RingMemory) -> Self {
        Self { ring, position: 0, tail: 0, head: 0, left: 0, source: 0 }
    }

    /// The ring's words.
    pub fn words(&self) -> &'static RingWords {
        self.ring.words
    }

    /// The items that are left of the block.
    #[inline]
    pub fn items(&self) -> *const u8 {
        let offset = self.position as usize & (self.ring.bytes - 1);
        self.ring.data.wrapping_add(offset)
    }

    /// Whether all is read that the tail said when it was last read.
    pub fn is_read(&self) -> bool {
        self.left == 0 && self.position == self.tail
    }

    /// Begins the next block, if there is one.
    pub fn next_block(&mut self) -> bool {
        loop {
            if self.position == self.tail {
                self.tail = self.ring.words.tail();
                if self.position == self.tail {
                    self.give_back(0);
                    return false;
                }
            }
            // SAFETY: a block's word, which is within the ring, aligned, and published.
            let word = unsafe { self.items().cast::<u64>().read() };
            if word != 0 {
                (self.left, self.source) = ((word >> 32) as u32, word as u32);
                self.position += WORD;
                return true;
            }
            let size = self.ring.bytes as u64;
            self.position += size - (self.position & (size - 1));
        }
    }

    /// Passes `n` items of the block, which were read.
    #[inline]
    pub fn pass(&mut self, n: u32, size: usize) {
        self.position += u64::from(n) * size as u64;
        self.left -= n;
        if self.left == 0 {
            self.position = padded(self.position);
            // The writer's line is moved rarely.
            self.give_back(self.ring.bytes as u64 / 4);
        }
    }

    fn give_back(&mut self, bytes: u64) {
        self.ring.words.give_back(&mut self.head, self.position, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A ring in memory of the test.
    fn ring(bytes: usize) -> (RingMemory, &'static ReadyWord) {
        let data = Box::leak(vec![u64::MAX; bytes / 8].into_boxed_slice());
        let place = RingMemory { words: Box::leak(Box::default()), data: data.as_mut_ptr().cast(), bytes };
        (place, Box::leak(Box::default()))
    }

    /// Items of all lengths and sources come in order, whatever the reader's and the writer's pace.
    #[test]
    fn items_come_in_order() {
        for size in (1..40).chain([63, 64, 100, 240]) {
            let (place, ready) = ring(1024);
            let (mut from, mut to) = (Producer::new(place), Consumer::new(place));
            let item = |i: u32| -> Vec<u8> { (0..size).map(|k| (i as usize * 7 + k) as u8).collect() };
            let source = |i: u32| i / 5 % 3;
            let (mut sent, mut received, mut random) = (0, 0, 12345u32);
            while received < 4000 {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                for _ in 0..random >> 28 {
                    // SAFETY: the item is as long.
                    match unsafe { from.push(item(sent).as_ptr(), size, source(sent)) } {
                        Pushed::Full => {
                            from.publish(ready, 0);
                            break;
                        }
                        Pushed::YesPublish => _ = from.publish(ready, 0),
                        Pushed::Yes => {}
                    }
                    sent += 1;
                }
                if random & 64 == 0 {
                    from.publish(ready, 0);
                }
                for _ in 0..random >> 24 & 15 {
                    if to.left == 0 && !to.next_block() {
                        break;
                    }
                    // SAFETY: an item that was published.
                    let got = unsafe { std::slice::from_raw_parts(to.items(), size) };
                    assert_eq!(got, item(received), "item {received} of {size} bytes");
                    assert_eq!(to.source, source(received));
                    to.pass(1, size);
                    received += 1;
                }
            }
        }
    }

    #[test]
    fn a_full_ring_takes_nothing_and_goes_on_when_read() {
        let (place, ready) = ring(512);
        let (mut from, mut to) = (Producer::new(place), Consumer::new(place));
        let word = 7u64.to_ne_bytes();
        let mut n = 0;
        // SAFETY: the item has 8 bytes.
        while unsafe { from.push(word.as_ptr(), 8, 0) } != Pushed::Full {
            n += 1;
        }
        assert_eq!(n, 63, "512 bytes, of which a block's word takes 8");
        assert!(from.publish(ready, 0), "the reader is to be woken once");
        assert!(!from.publish(ready, 0));
        assert!(to.next_block() && to.left == 63);
        to.pass(63, 8);
        assert!(!to.next_block());
        // SAFETY: as above.
        assert_ne!(unsafe { from.push(word.as_ptr(), 8, 0) }, Pushed::Full);
    }

    #[test]
    fn many_items_at_once_are_those_one_by_one() {
        let (place, ready) = ring(4096);
        let (mut from, mut to) = (Producer::new(place), Consumer::new(place));
        let items: Vec<u32> = (0..3000).collect();
        let (mut sent, mut received) = (0, 0);
        while received < items.len() {
            let mut is_full = false;
            while sent < items.len() && !is_full {
                let at = |i: usize| items[i..].as_ptr().cast::<u8>();
                // SAFETY: the items are there.
                unsafe {
                    match from.push(at(sent), 4, 1) {
                        Pushed::Full => is_full = true,
                        Pushed::Yes => {
                            sent += 1 + from.push_more(at(sent + 1), 4, items.len() - sent - 1);
                        }
                        Pushed::YesPublish => sent += 1,
                    }
                }
                from.publish(ready, 0);
            }
            while to.next_block() {
                // SAFETY: items that were published.
                let got = unsafe { std::slice::from_raw_parts(to.items().cast::<u32>(), to.left as usize) };
                assert_eq!(got, &items[received..received + got.len()]);
                received += got.len();
                to.pass(to.left, 4);
            }
        }
    }
}

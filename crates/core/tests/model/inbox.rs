//! The ring of an inbox.

use std::sync::atomic::Ordering;

use ferroshmem_layout::inbox::cells::{self, Reader, RoomWord};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, fence};
use loom::thread;

use super::common::{beside, model};

/// An inbox of eight cells, whose data are beside it.
struct ModelInbox {
    tail: AtomicU64,
    head: AtomicU64,
    words: [AtomicU64; 8],
    data: [UnsafeCell<u32>; 8],
    wanted: AtomicU64,
}

// SAFETY: the accesses are ordered by what is tested; loom checks that they are.
unsafe impl Sync for ModelInbox {}
// SAFETY: as above.
unsafe impl Send for ModelInbox {}

impl ModelInbox {
    /// Whose position is `at`.
    fn at(at: u64) -> Self {
        Self {
            tail: AtomicU64::new(at),
            head: AtomicU64::new(at),
            words: std::array::from_fn(|_| AtomicU64::new(0)),
            data: std::array::from_fn(|_| UnsafeCell::new(0)),
            wanted: AtomicU64::new(0),
        }
    }

    fn push(&self, value: u32) -> bool {
        let Some(position) = cells::reserve(self, 1) else {
            return false;
        };
        // SAFETY: see the type; loom tracks the access.
        self.data[position as usize % 8].with_mut(|p| unsafe { *p = value });
        cells::commit(self, position, 1);
        true
    }

    fn send(&self, value: u32) {
        while !self.push(value) {
            thread::yield_now();
        }
    }

    fn receive(&self, reader: &mut Reader) -> u32 {
        let cell = loop {
            if let Some(cell) = reader.next(self) {
                break cell;
            }
            thread::yield_now();
        };
        // SAFETY: see the type; loom tracks the access.
        let value = self.data[cell].with(|p| unsafe { *p });
        reader.release(self);
        value
    }
}

impl RoomWord for ModelInbox {
    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    fn want(&self, is_wanted: bool) -> bool {
        self.wanted.swap(is_wanted.into(), Ordering::Relaxed) != 0
    }

    fn fence(&self) {
        fence(Ordering::SeqCst);
    }
}

impl cells::Cells for ModelInbox {
    fn count(&self) -> usize {
        8
    }

    fn tail(&self) -> u64 {
        self.tail.load(Ordering::Relaxed)
    }

    fn move_tail(&self, from: u64, to: u64) -> bool {
        let order = Ordering::Relaxed;
        self.tail.compare_exchange(from, to, order, order).is_ok()
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    fn move_head(&self, to: u64) {
        self.head.store(to, Ordering::Release);
    }

    fn first_word(&self, cell: usize) -> u64 {
        self.words[cell].load(Ordering::Acquire)
    }

    fn set_first_word(&self, cell: usize, word: u64) {
        self.words[cell].store(word, Ordering::Release);
    }

    fn clear(&self, cell: usize) {
        self.words[cell].store(0, Ordering::Relaxed);
    }
}

/// Two PEs write, the owner reads: each one's records come whole and in its order. A second record of the other PE
/// would do what those of the first do, and take ten times as many interleavings.
#[test]
fn an_inbox_keeps_each_writers_order() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(6));
        let writers =
            [10..12, 20..21].map(|values| beside(&inbox, move |inbox| values.for_each(|value| inbox.send(value))));
        let mut reader = Reader::new(&*inbox);
        let mut values: Vec<u32> = (0..3).map(|_| inbox.receive(&mut reader)).collect();
        let first: Vec<u32> = values.iter().copied().filter(|v| *v < 20).collect();
        assert_eq!(first, [10, 11]);
        values.sort_unstable();
        assert_eq!(values, [10, 11, 20]);
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A writer that finds the ring full writes over what was read, and over nothing else.
#[test]
fn an_inbox_that_is_full_gives_room_when_it_was_read() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(0));
        (0..8).for_each(|value| inbox.send(value));
        assert!(cells::reserve(&*inbox, 1).is_none());
        let writer = beside(&inbox, |inbox| inbox.send(8));
        let mut reader = Reader::new(&*inbox);
        for value in 0..9 {
            assert_eq!(inbox.receive(&mut reader), value);
        }
        writer.join().unwrap();
    });
}

/// A writer that finds no room has its record in the inbox at last, or the owner sees that it wants room.
#[test]
fn a_writer_that_finds_no_room_is_told_of_it() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(0));
        (0..8).for_each(|value| inbox.send(value));
        let writers = [8, 9].map(|value| beside(&inbox, move |inbox| cells::push_or_want(inbox, || inbox.push(value))));
        let mut reader = Reader::new(&*inbox);
        let mut is_told = false;
        for value in 0..2 {
            assert_eq!(inbox.receive(&mut reader), value);
            is_told |= cells::is_room_wanted(&*inbox);
        }
        let are_pushed = writers.map(|writer| writer.join().unwrap());
        assert!(is_told || are_pushed == [true; 2]);
    });
}

/// The owner finds a record unfinished, and then its writer, which counts itself while it writes, writing nothing: so
/// the writer has finished it since. What is still unfinished then is no living writer's.
#[test]
fn what_no_writer_has_finished_stays_unfinished() {
    model(3, || {
        let inbox = Arc::new(ModelInbox::at(6));
        let writers = Arc::new(AtomicU64::new(0));
        let count = writers.clone();
        let writer = beside(&inbox, move |inbox| {
            count.store(1, Ordering::Release);
            fence(Ordering::Release);
            inbox.send(5);
            count.store(0, Ordering::Release);
        });
        let mut reader = Reader::new(&*inbox);
        let has_begun = inbox.tail.load(Ordering::Acquire) > reader.position();
        if has_begun && writers.load(Ordering::Acquire) == 0 {
            assert!(reader.next(&*inbox).is_some());
        }
        writer.join().unwrap();
    });
}

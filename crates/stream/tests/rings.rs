//! Every interleaving of the rings of streams and of the list of those that are ready, by loom.

#[allow(dead_code, reason = "the models of the runtime use the rest")]
#[path = "../../core/tests/model/common.rs"]
mod common;

use std::sync::atomic::Ordering;

use common::{Cells, beside, model};
use ferroshmem_stream::ring::{self, Ready, Words};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;

/// The shared words of a stream's ring, and of its reader's list.
#[derive(Default)]
struct ModelRing {
    tail: AtomicU64,
    is_queued: AtomicU32,
    next: AtomicU32,
    head: AtomicU64,
}

impl Words for ModelRing {
    fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    fn set_tail(&self, to: u64) {
        self.tail.store(to, Ordering::Release);
    }

    fn is_queued(&self) -> bool {
        self.is_queued.load(Ordering::Relaxed) != 0
    }

    fn queue(&self) -> bool {
        self.is_queued.swap(1, Ordering::AcqRel) == 0
    }

    fn unqueue(&self) {
        self.is_queued.store(0, Ordering::Release);
    }

    fn next(&self) -> u32 {
        self.next.load(Ordering::Relaxed)
    }

    fn set_next(&self, next: u32) {
        self.next.store(next, Ordering::Relaxed);
    }

    fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    fn set_head(&self, to: u64) {
        self.head.store(to, Ordering::Release);
    }
}

struct ModelReady(AtomicU32);

impl Ready for ModelReady {
    fn first(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    fn replace(&self, from: u32, to: u32) -> bool {
        self.0.compare_exchange(from, to, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    fn take(&self) -> u32 {
        self.0.swap(0, Ordering::Acquire)
    }

    fn fence(&self) {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// A reader that sees all writers closed finds all that they published, by the list of ready rings alone: the end of a
/// stream. A ring that is published again while the reader takes the list is on it once more.
#[test]
fn all_items_of_closed_writers_are_found() {
    const WRITERS: usize = 2;
    model(2, || {
        let rings: &'static [ModelRing; WRITERS] = Box::leak(Box::new([0; WRITERS].map(|_| ModelRing::default())));
        let ready: &'static ModelReady = Box::leak(Box::new(ModelReady(AtomicU32::new(0))));
        let closed: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let cells: &'static [Cells; WRITERS] = Box::leak(Box::new([0; WRITERS].map(|_| Cells::new())));
        let items = [2, 1];
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                thread::spawn(move || {
                    for i in 0..items[w] {
                        cells[w].write(i, 7);
                        ring::publish(&rings[w], ready, w as u32, i as u64 + 1);
                    }
                    closed.fetch_add(1, Ordering::AcqRel);
                })
            })
            .collect();
        let mut read = [0; WRITERS];
        let mut take = || {
            let mut active = Vec::new();
            ring::take_ready(ready, |n| &rings[n as usize], |n| active.push(n as usize));
            for w in active {
                while read[w] < rings[w].tail() as usize {
                    assert_eq!(cells[w].read(read[w]), 7);
                    read[w] += 1;
                }
            }
        };
        while closed.load(Ordering::Acquire) < WRITERS as u64 {
            take();
            thread::yield_now();
        }
        take();
        assert_eq!(read, items);
        for writer in writers {
            writer.join().unwrap();
        }
    });
}

/// A writer does not write where the reader still reads.
#[test]
fn a_full_stream_gives_room_when_it_was_read() {
    const ITEMS: u64 = 4;
    const ROOM: usize = 2;
    model(3, || {
        let shared = Arc::new((ModelRing::default(), Cells::new()));
        let writer = beside(&shared, |(ring, cells)| {
            let mut head = 0;
            for item in 0..ITEMS {
                while !ring::has_room(ring, ROOM, &mut head, item + 1) {
                    thread::yield_now();
                }
                cells.write(item as usize % ROOM, item as u32);
                ring.set_tail(item + 1);
            }
        });
        let (ring, cells) = &*shared;
        let mut head = 0;
        for item in 0..ITEMS {
            while ring.tail() <= item {
                thread::yield_now();
            }
            assert_eq!(cells.read(item as usize % ROOM), item as u32);
            ring::give_back(ring, &mut head, item + 1, 0);
        }
        writer.join().unwrap();
    });
}

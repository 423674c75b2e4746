//! Every interleaving of the rings of streams and of the list of those that are ready, by loom.

#[allow(dead_code, reason = "the models of the runtime use the rest")]
#[path = "../../core/tests/model/common.rs"]
mod common;

use std::sync::atomic::Ordering;

use common::{Cells, beside, model};
use ferroshmem_stream::ring::{self, ReadyWord};
use loom::sync::Arc;
use loom::sync::atomic::AtomicU64;
use loom::thread;

ferroshmem_platform::atomics!();

type RingWords = ring::RingWords<Loom>;

/// A reader that sees all writers closed finds all that they published, by the list of ready rings alone: the end of a
/// stream. A ring that is published again while the reader takes the list is on it once more.
#[test]
fn all_items_of_closed_writers_are_found() {
    const WRITERS: usize = 2;
    model(2, || {
        let rings: &'static [RingWords; WRITERS] = Box::leak(Box::default());
        let ready: &'static ReadyWord<Loom> = Box::leak(Box::default());
        let closed: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(0)));
        let cells: &'static [Cells; WRITERS] = Box::leak(Box::new([0; WRITERS].map(|_| Cells::new())));
        let items = [2, 1];
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                thread::spawn(move || {
                    for i in 0..items[w] {
                        cells[w].write(i, 7);
                        rings[w].publish(ready, w as u32, i as u64 + 1);
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
        let shared = Arc::new((RingWords::default(), ReadyWord::default(), Cells::new()));
        let writer = beside(&shared, |(ring, ready, cells)| {
            let mut head = 0;
            for item in 0..ITEMS {
                while !ring.has_room(ROOM, &mut head, item + 1) {
                    thread::yield_now();
                }
                cells.write(item as usize % ROOM, item as u32);
                ring.publish(ready, 0, item + 1);
            }
        });
        let (ring, _, cells) = &*shared;
        let mut head = 0;
        for item in 0..ITEMS {
            while ring.tail() <= item {
                thread::yield_now();
            }
            assert_eq!(cells.read(item as usize % ROOM), item as u32);
            ring.give_back(&mut head, item + 1, 0);
        }
        writer.join().unwrap();
    });
}

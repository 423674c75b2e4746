//! Every interleaving, by loom, of how collectives that go on give their values to others.

#[allow(dead_code, reason = "the models of the runtime use the rest")]
#[path = "../../core/tests/model/common.rs"]
mod common;

use common::{Cells, beside, model};
use ferroshmem_collective::nonblocking::{self, edge};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;

ferroshmem_platform::atomics!();

/// A worker executes operations; the program reads what the first has written as soon as that is complete, and needs no
/// lock to begin an exchange behind both.
#[test]
fn a_complete_operation_has_written_its_values() {
    model(3, || {
        let shared = Arc::new((AtomicU32::new(0), Cells::new()));
        let worker = beside(&shared, |(completed, cells)| {
            for operation in 0..2 {
                cells.write(operation, 7);
                nonblocking::count_completed::<Loom>(completed);
            }
        });
        let (completed, cells) = &*shared;
        while !nonblocking::is_complete::<Loom>(completed, 1) {
            thread::yield_now();
        }
        assert_eq!(cells.read(0), 7);
        // Once nothing is under way, it goes on with what operations have used.
        while !nonblocking::is_complete::<Loom>(completed, 2) {
            thread::yield_now();
        }
        (0..2).for_each(|operation| cells.write(operation, 8));
        worker.join().unwrap();
    });
}

/// A message goes through one of two lines each round. Its receiver finds all of it, and says when the line is free.
#[test]
fn a_neighbour_reads_each_block_before_the_next_but_one() {
    const ROUNDS: u64 = 4;
    /// Of a receiver that says which round it has ended.
    const SLACK: u64 = 2;
    model(2, || {
        let lines = [AtomicU64::new(0), AtomicU64::new(0)];
        let shared = Arc::new((lines, AtomicU64::new(0), Cells::new()));
        let sender = beside(&shared, |(lines, ended, cells)| {
            for round in 1..=ROUNDS {
                while !edge::may_send::<Loom>(ended, SLACK, round) {
                    thread::yield_now();
                }
                let line = round as usize % 2;
                cells.write(line, round as u32);
                edge::write_number::<Loom>(&lines[line], round);
            }
        });
        let (lines, ended, cells) = &*shared;
        for round in 1..=ROUNDS {
            let line = round as usize % 2;
            while !edge::has_come::<Loom>(&lines[line], round) {
                thread::yield_now();
            }
            assert_eq!(cells.read(line), round as u32);
            edge::write_number::<Loom>(ended, round);
        }
        sender.join().unwrap();
    });
}

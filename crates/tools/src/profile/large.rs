//! Records of a job that makes more calls than a page has one by one, written as the PEs write them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use ferroshmem_layout::profile::{Layout, WORD, event, header};

use super::Kind;
use super::tests::Job;

/// Routines of a step of the program, in the order in which each PE calls them: nanoseconds that each takes, and until
/// the next.
const STEP: [(&[u8; 8], Kind, u64, u64); 8] = [
    (b"put_sig\0", Kind::PutSignal, 700, 300),
    (b"put_sig\0", Kind::PutSignal, 800, 300),
    (b"sh_wait\0", Kind::Wait, 4_000, 200),
    (b"shmem_g\0", Kind::Get, 900, 200),
    (b"add_inc\0", Kind::Atomic, 500, 200),
    (b"quiet\0\0\0", Kind::Quiet, 300, 200),
    (b"put_nbi\0", Kind::Put, 100, 20_000),
    (b"barrier\0", Kind::Barrier, 1_000, 0),
];
/// From one step to the next, all PEs computing as long as they do not call.
const STEP_NS: u64 = 50_000;
/// A PE that comes later than the others in the middle of the run, by this.
pub(crate) const LATE: usize = 17;
const LATE_NS: u64 = 15_000;

/// Writes the records of `pes` PEs, each with room for `room` calls, that make `calls` calls each.
pub(crate) fn write(folder: &Path, pes: usize, calls: usize, room: usize) {
    let layout = Layout::new(pes, (room * event::WORDS * WORD) as u64);
    let mut job = Job::without_ring(&vec![0; pes], layout);
    let steps = calls.div_ceil(STEP.len()) as u64;
    let begin = job.begin(0);
    for pe in 0..pes {
        for (index, (name, kind, ns, _)) in STEP.iter().enumerate() {
            job.site_at(index, pe, **name, *kind, steps, steps * ns);
        }
        let words = job.words(pe);
        words[header::EVENTS_TOTAL] = calls as u64;
        words[header::END_ENTERED] = begin + steps * STEP_NS;
        words[header::END] = begin + steps * STEP_NS;
        let newest = layout.newest().start;
        let first_in_newest = calls - calls % layout.chunk();
        let first_kept = first_in_newest.saturating_sub(layout.events);
        let file = File::create(folder.join(format!("pe.{pe}"))).expect("a file");
        let mut to = BufWriter::with_capacity(1 << 20, file);
        // The ring begins anywhere where it is full.
        let mut ring = Vec::new();
        for number in first_kept..calls {
            let record = call(pe, pes, number, steps, begin);
            match number.checked_sub(first_in_newest) {
                Some(place) => {
                    let at = newest + place * event::WORDS;
                    words[at..at + event::WORDS].copy_from_slice(&record);
                }
                None => ring.extend(record.iter().flat_map(|w| w.to_le_bytes())),
            }
        }
        let bytes_of = |w: &u64| w.to_le_bytes();
        let head: Vec<u8> = words.iter().flat_map(bytes_of).collect();
        to.write_all(&head).expect("room");
        let start = first_kept % layout.events * event::WORDS * WORD;
        let end = (layout.events * event::WORDS * WORD).min(ring.len());
        ring[..end].rotate_right(start.min(end));
        to.write_all(&ring).expect("room");
        to.flush().expect("room");
        // Its parts are in the file.
        job.words(pe).fill(0);
    }
}

/// Whether a call's routine has "put" in its name.
pub(crate) fn is_put(number: usize) -> bool {
    STEP[number % STEP.len()].0.starts_with(b"put")
}

/// A call of a PE, as its record has it.
fn call(pe: usize, pes: usize, number: usize, steps: u64, begin: u64) -> [u64; event::WORDS] {
    let (step, place) = ((number / STEP.len()) as u64, number % STEP.len());
    let (_, kind, ns, _) = STEP[place];
    let before: u64 = STEP[..place].iter().map(|s| s.2 + s.3).sum();
    let is_late = pe == LATE && (steps / 3..steps * 2 / 3).contains(&step);
    let mixed = (number as u64 ^ (pe as u64) << 40).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let mut from = begin + step * STEP_NS + before + if is_late { LATE_NS } else { 0 };
    let mut to = from + ns;
    let right = (pe + 1) % pes;
    let subject = match kind {
        Kind::Barrier => {
            let of_late = (steps / 3..steps * 2 / 3).contains(&step);
            from += mixed % 500;
            to = begin + step * STEP_NS + before + ns + if of_late { LATE_NS } else { 0 };
            step << 16
        }
        Kind::Quiet | Kind::Wait => {
            to += mixed % 200;
            0
        }
        _ => {
            // Some of those that have time are long.
            let is_long = kind == Kind::Put && mixed.is_multiple_of(4);
            to += mixed % 200 + if is_long { 10_000 } else { 0 };
            right as u64 + 1
        }
    };
    let bytes = match kind {
        Kind::PutSignal => 4096,
        Kind::Barrier | Kind::Quiet | Kind::Wait => 0,
        _ => 8,
    };
    [from, to, place as u64 | 1 << 32, subject, bytes, 4096, 8192]
}

//! Contiguous transfers and blocks, of all sizes and to every PE, oneself included.

use ferroshmem_fabric::{Blocks, Remote};

use crate::job::{Case, Job};

const MIB: usize = 1 << 20;
/// Where a PE's part of the target's heap begins.
const PART: usize = 6 * MIB;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("put_and_get_of_every_size", 2, sizes),
        Case::new("put_and_get_to_oneself", 1, sizes),
        Case::new("source_of_put_may_change_at_once", 2, source),
        Case::new("blocks", 2, blocks),
        Case { heap: 6 << 30, ..Case::new("beyond_4_gib", 2, beyond) },
        pinned("pinned_sizes", sizes),
        pinned("pinned_blocks", blocks),
        pinned("pinned_source_of_put", source),
        pinned("pinned_across_chunks", across),
        Case::new("many_small_writes_between_all", 4, scatter),
        Case::new("threads_share_a_context", 2, threads),
    ]
}

/// As where registering pins memory; keys beyond the first chunk are not in the address blobs.
const fn pinned(name: &'static str, run: fn(&Job)) -> Case {
    Case { heap: 100 * MIB, ready: MIB, ..Case::new(name, 2, run).pinned() }
}

/// Transfers and blocks over the ends of chunks, at 16, 32 and 64 MiB.
fn across(job: &Job) {
    for edge in [16 * MIB, 32 * MIB, 64 * MIB] {
        for len in [8, 60, 200, 5000, 3 * MIB] {
            let data = pattern(edge + len + job.pe, len);
            let at = job.at(job.next(), edge - len / 2 - 1);
            assert!(there_and_back(job, at, &data) == data, "{len} bytes at {edge}");
        }
        for (block, step) in [(24, 24), (24, 40), (20_000, 30_000)] {
            let n = 20;
            let data = pattern(edge + block, block * n);
            let at = job.at(job.next(), edge - 7 * step - 11);
            let mut back = vec![0; block * n];
            let blocks = Blocks { bytes: block, count: n, local_stride: block as isize, remote_stride: step as isize };
            // SAFETY: within the heap.
            unsafe {
                job.fabric.put_blocks(&job.context, at, data.as_ptr(), blocks);
                job.fabric.quiet(&job.context);
                job.fabric.get_blocks(&job.context, back.as_mut_ptr(), at, blocks);
            }
            assert!(back == data, "blocks of {block} at {edge}");
        }
    }
}

/// Puts bytes to a place, and gets what is there then.
fn there_and_back(job: &Job, at: Remote, data: &[u8]) -> Vec<u8> {
    job.put(&job.context, at, data);
    job.fabric.quiet(&job.context);
    job.get(&job.context, at, data.len())
}

/// Bytes that depend on where they belong.
fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251 + seed * 7) as u8).collect()
}

fn sizes(job: &Job) {
    let (me, next) = (job.pe, job.next());
    let edges = [64, 128, 256, 16 << 10];
    let around = edges.iter().flat_map(|&edge| [edge - 1, edge, edge + 1]);
    let sizes = [0, 1, 2, 3, 8, 64 << 10, 2 * MIB].into_iter().chain(around);
    for (round, len) in sizes.enumerate() {
        for nbi in [false, true] {
            let offset = PART + 3 + round;
            let data = pattern(round + me + usize::from(nbi), len);
            let at = job.at(next, offset);
            let mut back = vec![0xee; len];
            if nbi {
                // SAFETY: all within buffers that live until quiet.
                unsafe {
                    job.fabric.put_nbi(&job.context, at, data.as_ptr(), len);
                    job.fabric.quiet_pe(&job.context, next);
                    job.fabric.get_nbi(&job.context, back.as_mut_ptr(), at, len);
                    job.fabric.quiet(&job.context);
                }
            } else {
                back = there_and_back(job, at, &data);
            }
            assert!(back == data, "{len} bytes, nbi: {nbi}");
            job.barrier();
            let from = (me + job.n - 1) % job.n;
            let sent = pattern(round + from + usize::from(nbi), len);
            assert!(job.bytes(offset, len) == sent, "{len} bytes arrived");
            job.barrier();
        }
    }
}

fn source(job: &Job) {
    for len in [8, 64, 65, 256, 257, 4096, 16 << 10, 40_000, 3 * MIB] {
        let mut data = vec![1u8; len];
        job.put(&job.context, job.at(job.next(), 0), &data);
        data.fill(2);
        job.put(&job.context, job.at(job.next(), len), &data);
        data.fill(3);
        job.fabric.quiet(&job.context);
        job.barrier();
        assert!(job.bytes(0, len).iter().all(|&b| b == 1), "{len} bytes");
        assert!(job.bytes(len, len).iter().all(|&b| b == 2), "{len} bytes");
        job.barrier();
    }
}

fn blocks(job: &Job) {
    let next = job.next();
    // Block, steps there and here, number; a step in the other direction begins at the end.
    let shapes: [(usize, isize, isize, usize); 11] = [
        (8, 24, 8, 1000),
        (8, 8, 40, 1000),
        (4, -12, 20, 333),
        (1, 2, 3, 5000),
        (100, 300, -200, 77),
        (256, 256, 512, 100),
        (3000, 4000, 3000, 100),
        (16 << 10, 20_000, 17_000, 20),
        (20_000, 30_000, 25_000, 20),
        (8, 16, 16, 0),
        (0, 16, 16, 5),
    ];
    for (round, &(block, there, here, n)) in shapes.iter().enumerate() {
        let span = |step: isize| step.unsigned_abs() * n + block;
        let begin = |step: isize| if step < 0 { step.unsigned_abs() * n } else { 0 };
        let data = pattern(round + job.pe, span(here));
        let mut back = vec![0u8; span(here)];
        let blocks = Blocks { bytes: block, count: n, local_stride: here, remote_stride: there };
        // SAFETY: spans hold all blocks.
        unsafe {
            std::ptr::write_bytes(job.heap, 0xaa, span(there));
            job.barrier();
            let at = job.at(next, begin(there));
            job.fabric.put_blocks(&job.context, at, data.as_ptr().add(begin(here)), blocks);
            job.fabric.quiet(&job.context);
            job.fabric.get_blocks(&job.context, back.as_mut_ptr().add(begin(here)), at, blocks);
        }
        job.barrier();
        let sent = pattern(round + (job.pe + job.n - 1) % job.n, span(here));
        let mut expected = vec![0xaa; span(there)];
        let mut returned = vec![0u8; span(here)];
        for i in 0..n as isize {
            let at = (begin(there) as isize + i * there) as usize;
            let from = (begin(here) as isize + i * here) as usize;
            expected[at..at + block].copy_from_slice(&sent[from..from + block]);
            returned[from..from + block].copy_from_slice(&data[from..from + block]);
        }
        assert!(job.bytes(0, span(there)) == expected, "put, shape {round}");
        assert!(back == returned, "get, shape {round}");
        job.barrier();
    }
}

fn beyond(job: &Job) {
    let data = pattern(job.pe, 100_000);
    for offset in [(2usize << 30) - 50_000, (4 << 30) - 50_000, (6 << 30) - 100_000] {
        assert!(there_and_back(job, job.at(job.next(), offset), &data) == data);
    }
}

fn scatter(job: &Job) {
    // Word `pe` of row `i` is written by that PE, in turn with those of others.
    const ROWS: usize = 2000;
    for i in 0..ROWS {
        for pe in 0..job.n {
            job.put_word(&job.context, job.at(pe, (i * job.n + job.pe) * 8), (job.pe * ROWS + i) as u64);
        }
    }
    job.fabric.quiet(&job.context);
    job.barrier();
    for i in 0..ROWS {
        for pe in 0..job.n {
            let got = job.word((i * job.n + pe) * 8).load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(got as usize, pe * ROWS + i);
        }
    }
}

fn threads(job: &Job) {
    const THREADS: usize = 4;
    const EACH: usize = 500;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for i in 0..EACH {
                    let slot = (thread * EACH + i) * 16;
                    let value = slot as u64 + 1;
                    let at = job.at(job.next(), slot);
                    job.put_word(&job.context, at, value);
                    if i % 7 == thread {
                        job.fabric.quiet(&job.context);
                        assert_eq!(job.get(&job.context, at, 8), value.to_ne_bytes());
                    }
                }
            });
        }
    });
    job.fabric.quiet(&job.context);
    job.barrier();
    for slot in (0..THREADS * EACH).map(|i| i * 16) {
        let got = job.word(slot).load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(got, slot as u64 + 1);
    }
}

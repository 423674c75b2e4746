//! Active messages: atomics and short reads whose results threads of all PEs wait for at once.

use std::sync::atomic::Ordering::*;

use ferroshmem_fabric::{AtomicOp, Context, Op, Width};

use crate::job::{Case, Job};

const THREADS: usize = 4;
/// As many as there are pairs of length and start of what a thread reads.
const ROUNDS: usize = 120;
/// Where bytes are that no PE writes.
const CONSTANT: usize = 4096;
/// Bytes of a read at most: more than a reply holds.
const LONGEST: usize = 40;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("threads_of_all_call_all", 3, crowd),
        Case::new("pinned_threads_of_all_call_all", 3, crowd).pinned(),
        Case::new("rxm_threads_of_all_call_all", 3, crowd).by_rxm(),
        Case::new("a_pe_calls_itself", 1, crowd),
        Case::new("a_pe_that_computes_is_called", 2, computing),
        Case::new("more_pes_than_slots_call_one", 66, |job| all_to_one(job, 40)),
        Case::new("all_post_to_one_and_to_all", 4, |job| all_to_one(job, 20_000)),
    ]
}

fn constant(offset: usize) -> u8 {
    (offset * 7 + 3) as u8
}

fn crowd(job: &Job) {
    for offset in 0..2 * LONGEST {
        // SAFETY: within the heap, before any PE reads.
        unsafe { job.heap.add(CONSTANT + offset).write(constant(offset)) };
    }
    job.word(0).store(0, Relaxed);
    job.word(8).store(u64::from(u32::MAX) << 32, Relaxed);
    job.barrier();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || call_all(job, thread));
        }
    });
    job.barrier();
    let all = (job.n * THREADS * ROUNDS) as u64;
    assert_eq!(job.word(0).load(Relaxed), 2 * all);
    assert_eq!(job.half(8).load(Relaxed), all as u32);
    assert_eq!(job.half(12).load(Relaxed), u32::MAX, "what is beside it");
    job.barrier();
}

/// One thread's part: every PE's counters rise by what it fetches and by what it posts.
fn call_all(job: &Job, thread: usize) {
    let context = Context::default();
    let mut least = vec![0; job.n];
    for round in 0..ROUNDS {
        for (pe, least) in least.iter_mut().enumerate() {
            let fetch = |offset, width| {
                let at = job.at(pe, offset);
                job.fabric.fetch(&context, at, AtomicOp::new(Op::Add, width, 1))
            };
            let at = job.at(pe, 0);
            job.fabric.post(&context, at, AtomicOp::new(Op::Add, Width::W64, 1));
            let now = fetch(0, Width::W64);
            // What was posted before is there, as programs expect without a fence.
            assert!(now > *least, "{now}, but {least} and 1 were added");
            *least = now + 1;
            fetch(8, Width::W32);
            let len = 1 + (round + thread) % LONGEST;
            let start = (round / 3) % LONGEST;
            let mut bytes = vec![0; len + 1];
            // SAFETY: room for as many bytes.
            unsafe { job.fabric.get(&context, bytes.as_mut_ptr(), job.at(pe, CONSTANT + start), len) };
            let mut expected: Vec<u8> = (start..start + len).map(constant).collect();
            expected.push(0); // beyond what was read
            assert_eq!(bytes, expected);
        }
    }
    job.fabric.quiet(&context);
}

/// All PEs post to the first, far more than may be under way, and to the next one; between them they fetch,
/// blocking and not, what they have posted.
fn all_to_one(job: &Job, n: u64) {
    const FETCHED: u64 = 100;

    // A word for each PE, a sum of all, and one of the PE before.
    let own = 64 + 8 * job.pe;
    let add = AtomicOp::new(Op::Add, Width::W64, 1);
    let read = AtomicOp::read(Width::W64);
    let mut results = vec![u64::MAX; n as usize];
    for i in 0..n {
        job.fabric.post(&job.context, job.at(0, own), add);
        job.fabric.post(&job.context, job.at(0, 0), add);
        job.fabric.post(&job.context, job.at(job.next(), 8), add);
        // SAFETY: the results live until quiet.
        unsafe {
            let result = (&raw mut results[i as usize]).cast();
            if i % 2 == 0 {
                let at = job.at(0, own);
                job.fabric.fetch_nbi(&job.context, at, read, result);
            } else {
                let at = job.at(0, own);
                job.fabric.get_nbi(&job.context, result, at, size_of::<u64>());
            }
        }
        if i % (n / FETCHED).max(1) == 0 {
            let now = job.fabric.fetch(&job.context, job.at(0, own), read);
            assert_eq!(now, i + 1, "a fetch after so many adds");
        }
        // What a fence separates goes the same way.
        job.fabric.fence(&job.context);
    }
    job.fabric.quiet(&job.context);
    for (result, i) in results.iter().zip(1..) {
        assert_eq!(*result, i, "a result of a non-blocking fetch or read");
    }
    job.barrier();
    assert_eq!(job.word(8).load(Relaxed), n);
    if job.pe == 0 {
        assert_eq!(job.word(0).load(Relaxed), n * job.n as u64);
        for pe in 0..job.n {
            assert_eq!(job.word(64 + 8 * pe).load(Relaxed), n);
        }
    }
}

/// A PE that calls nothing serves requests as well.
fn computing(job: &Job) {
    let (counter, end) = (0, 8);
    job.word(counter).store(0, Relaxed);
    job.word(end).store(0, Relaxed);
    job.barrier();
    if job.pe == 0 {
        for i in 0..ROUNDS as u64 {
            let at = job.at(1, counter);
            let was = job.fabric.fetch(&job.context, at, AtomicOp::new(Op::Add, Width::W64, 1));
            assert_eq!(was, i);
        }
        let at = job.at(1, end);
        job.fabric.post(&job.context, at, AtomicOp::new(Op::Write, Width::W64, 1));
        job.fabric.quiet(&job.context);
    } else {
        while job.word(end).load(Acquire) == 0 {
            std::hint::spin_loop();
        }
        assert_eq!(job.word(counter).load(Relaxed), ROUNDS as u64);
    }
    job.barrier();
}

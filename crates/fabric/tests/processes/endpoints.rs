//! Contexts with endpoints of their own, of threads that issue and complete at the same time.

use std::sync::Barrier;
use std::sync::atomic::Ordering::*;
use std::thread;

use ferroshmem_fabric::{Aggregate, AtomicOp, Context, Op, Width};

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("threads_own_endpoints", 2, |job| threads(job, 4)).own_endpoints(4),
        Case::new("rxm_threads_own_endpoints", 2, |job| threads(job, 4)).own_endpoints(4).by_rxm(),
        Case::new("threads_own_endpoints_aggregated", 2, |job| threads(job, 4))
            .aggregating(Aggregate::default())
            .own_endpoints(4),
        Case::new("more_threads_than_endpoints", 3, |job| threads(job, 7))
            .aggregating(Aggregate::default())
            .own_endpoints(2),
        Case::new("one_thread_own_endpoint", 2, |job| threads(job, 1)).own_endpoints(16),
        // More PEs than cores; endpoints of 64 would take 12 GB.
        Case::new("24_pes_own_endpoints", 24, |job| threads(job, 2)).aggregating(Aggregate::default()).own_endpoints(1),
        Case::new("own_endpoint_progresses_while_computing", 2, computing).own_endpoints(2),
        Case::new("threads_gather_own_endpoints", 2, |job| gather(job, 4))
            .aggregating(Aggregate::default())
            .own_endpoints(2),
        Case::new("threads_gather", 3, |job| gather(job, 3)).aggregating(Aggregate::default()),
        Case::new("gathered_goes_while_computing", 2, gather_and_compute).aggregating(Aggregate::default()),
        Case::new("own_endpoints_of_many_contexts", 2, many_contexts).own_endpoints(4),
    ]
}

const ROUNDS: u64 = 24;
/// Bytes of the heap that each thread of each PE has on the next one.
const AREA: usize = 128 << 10;
/// Lengths of puts: within a work request, within a bounce buffer, waited for.
const LENGTHS: [usize; 4] = [8, 200, 5_000, 60_000];
/// Offsets in an area: of puts, of a word that all atomics add to, of a signal, of what the signal follows.
const COUNT: usize = 70 << 10;
const SIGNAL: usize = COUNT + 64;
const SIGNALLED: usize = 80 << 10;

/// Threads put, get, add, and put with a signal by contexts of their own, and quiet each.
fn threads(job: &Job, n: usize) {
    let begin = Barrier::new(n);
    let contexts: Vec<Context> = (0..n).map(|i| job.new_context(i)).collect();
    thread::scope(|s| {
        for (i, context) in contexts.iter().enumerate() {
            let begin = &begin;
            s.spawn(move || {
                begin.wait();
                thread_part(job, context, i);
            });
        }
    });
    job.barrier();
    for i in 0..n {
        assert_eq!(job.word(i * AREA + COUNT).load(Acquire), ROUNDS * (ROUNDS + 1) / 2);
        assert_eq!(job.word(i * AREA + SIGNAL).load(Acquire), ROUNDS);
        assert_eq!(job.bytes(i * AREA + SIGNALLED, 3_000), [ROUNDS as u8; 3_000]);
    }
}

fn thread_part(job: &Job, context: &Context, number: usize) {
    let (next, base) = (job.next(), number * AREA);
    let fabric = &job.fabric;
    let add = |operand| AtomicOp::new(Op::Add, Width::W64, operand);
    let mut expected = 0;
    for round in 1..=ROUNDS {
        for (k, len) in LENGTHS.into_iter().enumerate() {
            let value = (round as u8).wrapping_mul(7).wrapping_add((number + k) as u8);
            let data = vec![value; len];
            let mut back = vec![0; len];
            let at = job.at(next, base);
            // SAFETY: within heap and buffers; what does not block is complete before the buffers go.
            unsafe {
                if round % 2 == 0 {
                    fabric.put(context, at, data.as_ptr(), len);
                } else {
                    fabric.put_nbi(context, at, data.as_ptr(), len);
                }
                fabric.quiet(context);
                if round % 3 == 0 {
                    fabric.get_nbi(context, back.as_mut_ptr(), at, len);
                    fabric.quiet_pe(context, next);
                } else {
                    fabric.get(context, back.as_mut_ptr(), at, len);
                }
            }
            assert_eq!(back, data, "thread {number}, round {round}");
        }
        let count = job.at(next, base + COUNT);
        if round % 2 == 0 {
            fabric.post(context, count, add(round));
            fabric.quiet(context);
        } else {
            assert_eq!(fabric.fetch(context, count, add(round)), expected);
        }
        expected += round;
        let data = vec![round as u8; 3_000];
        // SAFETY: the data are complete before they go.
        unsafe {
            let to = job.at(next, base + SIGNALLED);
            fabric.put_signalled(context, to, data.as_ptr(), data.len(), false);
        }
        fabric.fence(context);
        let set = AtomicOp::new(Op::Write, Width::W64, round);
        fabric.post(context, job.at(next, base + SIGNAL), set);
        // What this thread is sent by the one before.
        let seen = job.word(base + SIGNAL).load(Acquire);
        if seen == ROUNDS {
            assert_eq!(job.bytes(base + SIGNALLED, 3_000), [seen as u8; 3_000]);
        }
    }
    fabric.quiet(context);
}

/// Threads put to and add to words of all PEs by contexts of their own, in rounds with a fence between, and fetch their
/// counts; the first thread, which idles meanwhile, completes all contexts.
fn gather(job: &Job, n: usize) {
    const WORDS: usize = 500;
    const ROUNDS: usize = 40;
    const COUNT: usize = 8 * WORDS;

    // Of each thread of each PE.
    let area = |pe: usize, thread: usize| (pe * n + thread) * AREA;
    let contexts: Vec<Context> = (0..n).map(|i| job.numbered_context(i)).collect();
    let scatter = |thread: usize, context: &Context| {
        let base = area(job.pe, thread);
        let add = AtomicOp::new(Op::Add, Width::W64, 1);
        let mut added = vec![0; job.n];
        for i in 0..ROUNDS * WORDS {
            let (round, word) = (i / WORDS + 1, i * 7 % WORDS);
            let pe = (word + thread) % job.n;
            job.put_word(context, job.at(pe, base + 8 * word), (round << 32 | word) as u64);
            let count = job.at(pe, base + COUNT);
            if i % 701 == 700 {
                assert_eq!(job.fabric.fetch(context, count, add), added[pe]);
            } else {
                job.fabric.post(context, count, add);
            }
            added[pe] += 1;
            if i % WORDS == WORDS - 1 {
                job.fabric.fence(context);
            }
        }
    };
    thread::scope(|s| {
        for (thread, context) in contexts.iter().enumerate() {
            s.spawn(move || scatter(thread, context));
        }
        (0..5_000).for_each(|_| _ = job.fabric.progress());
    });
    for context in &contexts {
        job.fabric.quiet(context);
    }
    job.barrier();
    for (pe, thread) in (0..job.n).flat_map(|pe| (0..n).map(move |thread| (pe, thread))) {
        let mut count = 0;
        for word in (0..WORDS).filter(|word| (word + thread) % job.n == job.pe) {
            let value = job.word(area(pe, thread) + 8 * word).load(Acquire);
            assert_eq!(value, (ROUNDS << 32 | word) as u64, "PE {pe}, thread {thread}");
            count += ROUNDS as u64;
        }
        assert_eq!(job.word(area(pe, thread) + COUNT).load(Acquire), count);
    }
    job.barrier();
}

/// What a thread has gathered arrives though it calls nothing any more.
fn gather_and_compute(job: &Job) {
    let context = job.numbered_context(0);
    let add = AtomicOp::new(Op::Add, Width::W64, 1);
    let word = job.word(0);
    for round in 1..=20 {
        if job.pe == 0 {
            // The first is sent at once, the others wait for it.
            (0..5).for_each(|_| job.fabric.post(&context, job.at(1, 0), add));
            while word.load(Acquire) < round {
                thread::yield_now();
            }
        } else {
            while word.load(Acquire) < 5 * round {
                thread::yield_now();
            }
            job.fabric.post(&context, job.at(0, 0), add);
        }
    }
    job.fabric.quiet(&context);
    job.barrier();
}

/// A put that is longer than what sockets hold goes on while its PE computes.
fn computing(job: &Job) {
    const LEN: usize = 12 << 20;
    let (end, answer) = (LEN + 64, LEN + 128);

    let context = job.new_context(1);
    if job.pe == 0 {
        let data = vec![3u8; LEN];
        // SAFETY: what does not block is complete before the data go.
        unsafe {
            job.fabric.put_nbi(&context, job.at(1, 0), data.as_ptr(), LEN);
        }
        // This thread calls nothing of the fabric until the other PE has it all.
        while job.word(answer).load(Acquire) == 0 {
            thread::yield_now();
        }
        job.fabric.quiet(&context);
        job.put_word(&context, job.at(1, end), 1);
        job.fabric.quiet(&context);
    } else {
        let last = job.word(LEN - 8);
        job.fabric.wait(|| last.load(Acquire) == u64::from_ne_bytes([3; 8]));
        job.put_word(&context, job.at(0, answer), 1);
        job.fabric.quiet(&context);
        job.fabric.wait(|| job.word(end).load(Acquire) == 1);
        assert!(job.bytes(0, LEN).iter().all(|byte| *byte == 3));
    }
    job.barrier();
}

/// Contexts come and go without taking descriptors with them.
fn many_contexts(job: &Job) {
    const MANY: usize = 1_500;

    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    let mut before = 0;
    for i in 0..MANY as u64 {
        let context = job.new_context(i as usize);
        job.put_word(&context, job.at(job.next(), 8 * (i as usize % 64)), i);
        job.fabric.quiet(&context);
        if i == 100 {
            job.barrier();
            before = descriptors();
        }
    }
    job.barrier();
    let after = descriptors();
    assert!(after <= before, "{before} descriptors, then {after}");
}

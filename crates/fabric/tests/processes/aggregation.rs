//! Short puts that go together in messages: random programs against a model of each PE's memory.

use std::sync::atomic::Ordering::*;
use std::time::Duration;

use fastrand::Rng;
use ferroshmem_fabric::{Aggregate, AtomicOp, Blocks, Context, Op, Width};

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    let forced = |bytes, micros| Aggregate { bytes, delay: Duration::from_micros(micros) };
    vec![
        Case::new("random_programs", 3, random_programs).aggregating(Aggregate::default()),
        Case::new("rxm_random_programs", 3, random_programs).aggregating(Aggregate::default()).by_rxm(),
        Case::new("random_programs_all_aggregated", 4, random_programs).aggregating(forced(usize::MAX, 100)),
        Case::new("random_programs_of_words", 2, random_programs).aggregating(forced(8, 1_000_000)),
        Case::new("random_programs_not_aggregated", 2, random_programs).aggregating(forced(0, 1)),
        Case::new("random_programs_own_endpoints", 3, random_programs)
            .aggregating(Aggregate::default())
            .own_endpoints(2),
        Case::new("random_programs_own_endpoint_of_two_contexts", 2, random_programs)
            .aggregating(forced(64, 100))
            .own_endpoints(1),
        Case::new("all_put_to_one", 4, all_put_to_one).aggregating(Aggregate::default()),
        Case::new("puts_go_while_others_are_made", 3, one_among_many).aggregating(Aggregate::default()),
    ]
}

/// Bytes that a PE writes of each other's memory.
const REGION: usize = 1 << 13;
/// Bytes at the beginning of a region that hold what a signal follows: its values, one in each word.
const SIGNALLED: usize = 64;
/// Signals, each a word.
const SIGNALS: usize = 1 << 19;
const STEPS: usize = 3_000;

/// What a PE has written of another's memory.
struct Model {
    bytes: Vec<u8>,
    /// Bytes that were written since the last fence: what follows on them needs one.
    unordered: Vec<bool>,
}

impl Model {
    /// The bytes are about to be written: whether there must be a fence before.
    fn touch(&mut self, at: usize, len: usize) -> bool {
        let range = &mut self.unordered[at..at + len];
        let is_again = range.contains(&true);
        if is_again {
            self.unordered.fill(false);
        }
        self.unordered[at..at + len].fill(true);
        is_again
    }
}

/// Each PE does random operations on its region of each other PE's memory. What a context reads after them, and what
/// is there in the end, is what a model says; what a signal follows is there before it.
fn random_programs(job: &Job) {
    let contexts = [job.new_context(0), job.new_context(1)];
    contexts[1].expect_batch(true);
    // A context has a half of the region.
    let half = REGION / 2;
    let mut random = Rng::with_seed(job.pe as u64 * 77 + 5);
    let mut models: Vec<_> =
        (0..2 * job.n).map(|_| Model { bytes: vec![0; half], unordered: vec![false; half] }).collect();
    let mut signals = vec![0u64; 2 * job.n];
    let mut seen = signals.clone();
    let mut fetched = [Vec::new(), Vec::new()];
    for step in 0..STEPS {
        let (pe, which) = (random.usize(..job.n), random.usize(..2));
        let context = &contexts[which];
        let base = REGION * job.pe + half * which;
        let slot = 2 * pe + which;
        let model = &mut models[slot];
        let begin = SIGNALLED + random.usize(..half - SIGNALLED);
        let longest = [8, 64, 700, half][random.usize(..4)].min(half - begin);
        let len = 1 + random.usize(..longest);
        let word = begin / 8 * 8;
        let fence_if = |needed| {
            if needed {
                job.fabric.fence(context);
            }
        };
        match random.usize(..12) {
            0..=4 => {
                fence_if(model.touch(begin, len));
                let value = (step * 31 + pe) as u8;
                let data: Vec<u8> = (0..len).map(|i| value.wrapping_add(i as u8)).collect();
                model.bytes[begin..begin + len].copy_from_slice(&data);
                let at = job.at(pe, base + begin);
                // SAFETY: within heap and buffer; non-blocking ones are complete when the buffer goes.
                unsafe {
                    if step % 3 == 0 && len > 300 {
                        job.fabric.put_nbi(context, at, data.as_ptr(), len);
                        job.fabric.quiet(context);
                        for model in models.iter_mut().skip(which).step_by(2) {
                            model.unordered.fill(false);
                        }
                    } else {
                        job.fabric.put(context, at, data.as_ptr(), len);
                    }
                }
            }
            5 if begin + 160 <= half => {
                let blocks = Blocks { bytes: 1 + len % 9, count: 12, local_stride: 9, remote_stride: 13 };
                fence_if(model.touch(begin, 160));
                let data: Vec<u8> = (0..108).map(|i| (step + i) as u8).collect();
                for i in 0..blocks.count {
                    let to = begin + 13 * i;
                    model.bytes[to..to + blocks.bytes].copy_from_slice(&data[9 * i..9 * i + blocks.bytes]);
                }
                let at = job.at(pe, base + begin);
                // SAFETY: the blocks lie within heap and buffer.
                unsafe { job.fabric.put_blocks(context, at, data.as_ptr(), blocks) };
            }
            6..=8 if word >= SIGNALLED => {
                fence_if(model.touch(word, 8));
                let old = u64::from_ne_bytes(model.bytes[word..word + 8].try_into().unwrap());
                let operand = step as u64 * 0x1_0001_0001;
                let (op, new) = match step % 4 {
                    0 => (Op::Add, old.wrapping_add(operand)),
                    1 => (Op::Xor, old ^ operand),
                    2 => (Op::Or, old | operand),
                    _ => (Op::Write, operand),
                };
                model.bytes[word..word + 8].copy_from_slice(&new.to_ne_bytes());
                let at = job.at(pe, base + word);
                let atomic = AtomicOp::new(op, Width::W64, operand);
                if step % 5 == 0 {
                    assert_eq!(job.fabric.fetch(context, at, atomic), old, "a fetch");
                } else if step % 5 == 1 {
                    let mut result = Box::new(!old);
                    let to = (&raw mut *result).cast();
                    // SAFETY: the box stays until the operations are complete.
                    unsafe { job.fabric.fetch_nbi(context, at, atomic, to) };
                    fetched[which].push((result, old));
                } else {
                    job.fabric.post(context, at, atomic);
                }
            }
            9 | 10 => {
                // All words of it, then the signal.
                signals[slot] += 1;
                let value = signals[slot];
                let data = [value; SIGNALLED / 8];
                fence_if(model.touch(0, SIGNALLED));
                model.bytes[..SIGNALLED].fill(0);
                for (to, value) in model.bytes[..SIGNALLED].chunks_exact_mut(8).zip(data) {
                    to.copy_from_slice(&value.to_ne_bytes());
                }
                let at = job.at(pe, base);
                let signal = job.at(pe, SIGNALS + 16 * job.pe + 8 * which);
                let (from, len) = (data.as_ptr().cast(), size_of_val(&data));
                // SAFETY: within the heap; the data may go on return.
                unsafe {
                    if step % 2 == 0 {
                        job.fabric.put_signalled(context, at, from, len, false);
                    } else {
                        job.fabric.put(context, at, from, len);
                    }
                }
                job.fabric.fence(context);
                model.unordered.fill(false);
                job.fabric.post(context, signal, AtomicOp::new(Op::Add, Width::W64, 1));
            }
            _ if step % 50 == 0 => {
                job.fabric.quiet(context);
                for model in models.iter_mut().skip(which).step_by(2) {
                    model.unordered.fill(false);
                }
                check_fetched(&mut fetched[which]);
                check(job, context, pe, base, &models[slot]);
                gather(job, context, &mut random, |pe| (base, &models[2 * pe + which]));
            }
            _ => look(job, &mut seen),
        }
    }
    for (which, context) in contexts.iter().enumerate() {
        job.fabric.quiet(context);
        check_fetched(&mut fetched[which]);
        for pe in 0..job.n {
            let base = REGION * job.pe + half * which;
            check(job, context, pe, base, &models[2 * pe + which]);
        }
    }
    job.barrier();
    look(job, &mut seen);
    job.barrier();
}

fn check(job: &Job, context: &Context, pe: usize, base: usize, model: &Model) {
    let bytes = job.get(context, job.at(pe, base), model.bytes.len());
    let differs = bytes.iter().zip(&model.bytes).position(|(a, b)| a != b);
    assert_eq!(differs, None, "PE {pe}'s bytes from {base} on");
}

/// What non-blocking fetches have returned, and what was there before: after a quiet.
fn check_fetched(fetched: &mut Vec<(Box<u64>, u64)>) {
    for (result, old) in fetched.drain(..) {
        assert_eq!(*result, old, "a fetch without waiting");
    }
}

/// Reads of random places of all PEs, complete together; the model of a PE's half of the region says what is there.
fn gather<'m>(job: &Job, context: &Context, random: &mut Rng, model: impl Fn(usize) -> (usize, &'m Model)) {
    const LONGEST: usize = 40;

    let reads: Vec<_> = (0..100)
        .map(|_| {
            let pe = random.usize(..job.n);
            let begin = random.usize(..REGION / 2 - LONGEST);
            (pe, begin, 1 + random.usize(..LONGEST))
        })
        .collect();
    let mut results = vec![[0u8; LONGEST]; reads.len()];
    for ((pe, begin, len), result) in reads.iter().zip(&mut results) {
        let from = job.at(*pe, model(*pe).0 + begin);
        // SAFETY: within heap and buffer, which stays until the reads are complete.
        unsafe { job.fabric.get_nbi(context, result.as_mut_ptr(), from, *len) };
    }
    job.fabric.quiet(context);
    for ((pe, begin, len), result) in reads.iter().zip(&results) {
        let expected = &model(*pe).1.bytes[*begin..begin + len];
        assert_eq!(&result[..*len], expected, "PE {pe}'s bytes {begin}");
    }
}

/// What this PE has been signalled is there.
fn look(job: &Job, seen: &mut [u64]) {
    for (writer, seen) in seen.iter_mut().enumerate() {
        let signal = job.word(SIGNALS + 8 * writer).load(Acquire);
        assert!(signal >= *seen, "a signal goes back");
        *seen = signal;
        for word in 0..SIGNALLED / 8 {
            let value = job.word(REGION / 2 * writer + 8 * word).load(Acquire);
            assert!(value >= signal, "signal {signal}, but word {word} is {value}");
        }
    }
}

/// All PEs put words to the first, far more than may be under way, and all sizes.
fn all_put_to_one(job: &Job) {
    const WORDS: usize = 1500;

    let base = 8 * WORDS * job.pe;
    for round in 1..=20u64 {
        for i in 0..WORDS {
            // Every third one lies after that before it.
            let word = if i % 3 == 0 { i } else { i * 7 % WORDS };
            job.put_word(&job.context, job.at(0, base + 8 * word), round << 32 | word as u64);
        }
        job.fabric.fence(&job.context);
    }
    job.fabric.quiet(&job.context);
    job.barrier();
    if job.pe == 0 {
        for (pe, word) in (0..job.n).flat_map(|pe| (0..WORDS).map(move |word| (pe, word))) {
            let is = job.word(8 * (WORDS * pe + word)).load(Acquire);
            let is_written = word % 3 == 0 || (0..WORDS).any(|i| i % 3 != 0 && i * 7 % WORDS == word);
            assert_eq!(is, if is_written { 20 << 32 | word as u64 } else { 0 });
        }
    }
}

/// What was put to a PE arrives while the thread puts to another one all the time.
fn one_among_many(job: &Job) {
    const FLAG: usize = 64;

    job.barrier();
    match job.pe {
        0 => {
            let mut i = 0;
            // The first is a write, the others wait for each other.
            (0..3).for_each(|word| job.put_word(&job.context, job.at(1, FLAG + 8 * word), 1));
            while job.word(0).load(Acquire) == 0 {
                i += 1;
                job.put_word(&job.context, job.at(2, 8 * (i * 7919 % 1000)), 1);
            }
            job.fabric.quiet(&job.context);
        }
        1 => {
            for word in 0..3 {
                while job.word(FLAG + 8 * word).load(Acquire) == 0 {
                    std::thread::yield_now();
                }
            }
            let write = AtomicOp::new(Op::Write, Width::W64, 1);
            job.fabric.post(&job.context, job.at(0, 0), write);
            job.fabric.quiet(&job.context);
        }
        _ => {}
    }
    job.barrier();
}

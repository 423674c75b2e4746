//! What comes after a fence is seen after what came before it.

use std::sync::atomic::Ordering::*;

use ferroshmem_fabric::{Aggregate, AtomicOp, Blocks, Context, Op, Width};

use crate::job::{Case, Job};

/// Writes of two kinds, of which the second comes after the first.
macro_rules! ordered {
    ($name:literal, $first:ident, $second:ident) => {
        Case::new($name, 2, |job| order(job, Kind::$first, Kind::$second))
    };
}

pub(crate) fn cases() -> Vec<Case> {
    let aggregated = |case: Case| case.aggregating(Aggregate::default());
    let apart = |case: Case| case.own_endpoints(1);
    vec![
        ordered!("fence_then_post", Put, Post),
        ordered!("fence_then_put", Put, Put),
        aggregated(ordered!("aggregated_fence_then_post", Put, Post)),
        aggregated(ordered!("aggregated_fence_then_put", Put, Put)),
        aggregated(ordered!("long_put_then_aggregated_put", Long, Put)),
        aggregated(ordered!("aggregated_put_then_injected", Put, Injected)),
        ordered!("post_fence_put", Post, Put),
        ordered!("long_put_then_post", Long, Post),
        ordered!("long_put_then_put", Long, Put),
        ordered!("put_then_injected", Put, Injected),
        ordered!("post_then_injected", Post, Injected),
        ordered!("local_completion_then_injected", LocalCompletion, Injected),
        ordered!("local_completion_then_injected_pinned", LocalCompletion, Injected).pinned(),
        apart(ordered!("own_endpoint_fence_then_post", Put, Post)),
        apart(ordered!("own_endpoint_fence_then_put", Put, Put)),
        apart(aggregated(ordered!("own_endpoint_aggregated_fence_then_post", Put, Post))),
        apart(aggregated(ordered!("own_endpoint_long_put_then_aggregated_put", Long, Put))),
        apart(ordered!("own_endpoint_post_fence_put", Post, Put)),
        apart(ordered!("own_endpoint_post_then_injected", Post, Injected)),
        apart(ordered!("own_endpoint_local_completion_then_injected", LocalCompletion, Injected)),
        apart(aggregated(Case::new("own_endpoint_aggregated_put_then_get", 2, put_then_get))),
        apart(Case::new("own_endpoint_dropped_context_completes", 2, dropped)),
        aggregated(Case::new("aggregated_put_then_get", 2, put_then_get)),
        Case::new("put_then_get", 2, put_then_get),
        Case::new("put_then_get_pinned", 2, put_then_get).pinned(),
        Case::new("dropped_context_completes", 2, dropped),
    ]
}

/// A get of the same PE sees its puts, also those that are in messages.
fn put_then_get(job: &Job) {
    const WORDS: usize = 20;

    if job.pe != 0 {
        return;
    }
    for round in 1..=ROUNDS {
        (0..WORDS).for_each(|i| job.put_word(&job.context, job.at(1, 16 * i), round));
        // By a request for the last word, by reads of blocks, or of all.
        let first = if round % 3 == 0 { WORDS - 1 } else { 0 };
        let (from, mut seen) = (job.at(1, 16 * first), vec![0; WORDS - first]);
        if round % 3 == 1 {
            let blocks = Blocks { bytes: 8, count: WORDS, local_stride: 8, remote_stride: 16 };
            // SAFETY: within heap and array.
            unsafe { job.fabric.get_blocks(&job.context, seen.as_mut_ptr().cast(), from, blocks) };
        } else {
            let got = job.get(&job.context, from, 16 * seen.len());
            let (words, _) = got.as_chunks();
            seen = words.iter().step_by(2).map(|word| u64::from_ne_bytes(*word)).collect();
        }
        assert_eq!(seen, vec![round; seen.len()]);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Put,
    Post,
    Long,
    /// As `Long`, complete when its source is free.
    LocalCompletion,
    /// Without a fence before it.
    Injected,
}

const ROUNDS: u64 = 500;
const FLAG: usize = 4096;
const LAST: usize = (1 << 20) - 8;

/// Even PEs write a value and then a flag; odd ones look at the value when they see the flag.
fn order(job: &Job, first: Kind, second: Kind) {
    let is_long = matches!(first, Kind::Long | Kind::LocalCompletion);
    let mut long: Vec<u64> = vec![0; (1 << 17) - 1];
    for round in 1..=ROUNDS {
        if job.pe == 0 {
            let write = |kind, offset, data: &[u64]| {
                let (from, at, len) = (data.as_ptr().cast(), job.at(1, offset), size_of_val(data));
                match kind {
                    // SAFETY: the data lives until quiet, at the end of the round.
                    Kind::Put | Kind::Long => unsafe { job.fabric.put_nbi(&job.context, at, from, len) },
                    // SAFETY: as above.
                    Kind::LocalCompletion => unsafe {
                        job.fabric.put_local_completion(&job.context, at, from, len);
                    },
                    // SAFETY: as above.
                    Kind::Injected => unsafe { job.fabric.inject(&job.context, at, from, len) },
                    Kind::Post => job.fabric.post(&job.context, at, AtomicOp::new(Op::Write, Width::W64, data[0])),
                }
            };
            if is_long {
                if round % 10 != 0 {
                    continue;
                }
                *long.last_mut().unwrap() = round;
                write(first, 8 + FLAG, &long);
            } else {
                write(first, 0, &[7]);
                write(first, LAST, &[round]);
            }
            if second != Kind::Injected {
                job.fabric.fence(&job.context);
            }
            write(second, FLAG, &[round]);
            if round % 3 == 0 || is_long {
                job.fabric.quiet(&job.context);
            }
            if round == ROUNDS {
                job.fabric.quiet(&job.context);
            }
        } else {
            // The progress thread does the work.
            if is_long && round % 10 != 0 {
                continue;
            }
            let mut flag = job.word(FLAG).load(Acquire);
            while flag < round {
                std::hint::spin_loop();
                flag = job.word(FLAG).load(Acquire);
            }
            let offset = if is_long { 8 + FLAG + size_of_val(&*long) - 8 } else { LAST };
            let value = job.word(offset).load(Acquire);
            assert!(value >= flag, "flag {flag}, value {value}");
        }
    }
}

fn dropped(job: &Job) {
    for i in 0..100u64 {
        let context = Context::default();
        for word in 0..10 {
            let at = job.at(job.next(), word * 8);
            job.fabric.post(&context, at, AtomicOp::new(Op::Add, Width::W64, i));
        }
    }
    let expected = 4950;
    while (0..10).any(|word| job.word(word * 8).load(Acquire) != expected) {
        job.fabric.progress();
    }
}

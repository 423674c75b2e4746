//! What comes after a fence is seen after what came before it.

use std::sync::atomic::Ordering::*;

use ferroshmem_fabric::{Aggregate, AtomicOp, Context, Op, Width};

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("fence_then_post", 2, |job| {
            order(job, Kind::Put, Kind::Post);
        }),
        Case::new("fence_then_put", 2, |job| order(job, Kind::Put, Kind::Put)),
        Case::new("aggregated_fence_then_post", 2, |job| {
            order(job, Kind::Put, Kind::Post);
        })
        .aggregating(Aggregate::default()),
        Case::new("aggregated_fence_then_put", 2, |job| {
            order(job, Kind::Put, Kind::Put);
        })
        .aggregating(Aggregate::default()),
        Case::new("long_put_then_aggregated_put", 2, |job| {
            order(job, Kind::Long, Kind::Put);
        })
        .aggregating(Aggregate::default()),
        Case::new("aggregated_put_then_injected", 2, |job| {
            order(job, Kind::Put, Kind::Injected);
        })
        .aggregating(Aggregate::default()),
        Case::new("post_fence_put", 2, |job| order(job, Kind::Post, Kind::Put)),
        Case::new("long_put_then_post", 2, |job| {
            order(job, Kind::Long, Kind::Post);
        }),
        Case::new("long_put_then_put", 2, |job| {
            order(job, Kind::Long, Kind::Put);
        }),
        Case::new("put_then_injected", 2, |job| {
            order(job, Kind::Put, Kind::Injected);
        }),
        Case::new("post_then_injected", 2, |job| {
            order(job, Kind::Post, Kind::Injected);
        }),
        Case::new("local_completion_then_injected", 2, |job| {
            order(job, Kind::LocalCompletion, Kind::Injected);
        }),
        Case::new("local_completion_then_injected_pinned", 2, |job| {
            order(job, Kind::LocalCompletion, Kind::Injected);
        })
        .pinned(),
        Case::new("own_endpoint_fence_then_post", 2, |job| {
            order(job, Kind::Put, Kind::Post);
        })
        .own_endpoints(1),
        Case::new("own_endpoint_fence_then_put", 2, |job| {
            order(job, Kind::Put, Kind::Put);
        })
        .own_endpoints(1),
        Case::new("own_endpoint_aggregated_fence_then_post", 2, |job| {
            order(job, Kind::Put, Kind::Post);
        })
        .aggregating(Aggregate::default())
        .own_endpoints(1),
        Case::new("own_endpoint_long_put_then_aggregated_put", 2, |job| {
            order(job, Kind::Long, Kind::Put);
        })
        .aggregating(Aggregate::default())
        .own_endpoints(1),
        Case::new("own_endpoint_post_fence_put", 2, |job| {
            order(job, Kind::Post, Kind::Put);
        })
        .own_endpoints(1),
        Case::new("own_endpoint_post_then_injected", 2, |job| {
            order(job, Kind::Post, Kind::Injected);
        })
        .own_endpoints(1),
        Case::new("own_endpoint_local_completion_then_injected", 2, |job| {
            order(job, Kind::LocalCompletion, Kind::Injected);
        })
        .own_endpoints(1),
        Case::new("own_endpoint_aggregated_put_then_get", 2, put_then_get)
            .aggregating(Aggregate::default())
            .own_endpoints(1),
        Case::new("own_endpoint_dropped_context_completes", 2, dropped).own_endpoints(1),
        Case::new("aggregated_put_then_get", 2, put_then_get).aggregating(Aggregate::default()),
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
        for i in 0..WORDS {
            let (from, at) = ((&raw const round).cast(), job.at(1, 16 * i));
            // SAFETY: a word that is readable.
            unsafe { job.fabric.put(&job.context, at, from, size_of::<u64>()) };
        }
        let mut got = [0; 2 * WORDS];
        let to = (&raw mut got).cast();
        // SAFETY: as many bytes are writable.
        unsafe {
            job.fabric.get(&job.context, to, job.at(1, 0), size_of_val(&got));
        };
        let seen: Vec<u64> = got.into_iter().step_by(2).collect();
        assert_eq!(seen, [round; WORDS]);
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
            let write = |kind, offset, data: &[u64]| match kind {
                // SAFETY: the data lives until quiet, at the end of the round.
                Kind::Put | Kind::Long => unsafe {
                    let len = size_of_val(data);
                    let (from, at) = (data.as_ptr().cast(), job.at(1, offset));
                    job.fabric.put_nbi(&job.context, at, from, len);
                },
                // SAFETY: as above.
                Kind::LocalCompletion => unsafe {
                    let len = size_of_val(data);
                    let (from, at) = (data.as_ptr().cast(), job.at(1, offset));
                    job.fabric.put_local_completion(&job.context, at, from, len);
                },
                // SAFETY: as above.
                Kind::Injected => unsafe {
                    let (from, at) = (data.as_ptr().cast(), job.at(1, offset));
                    job.fabric.inject(&job.context, at, from, size_of_val(data));
                },
                Kind::Post => {
                    let (at, op) = (job.at(1, offset), Op::Write);
                    job.fabric.post(&job.context, at, AtomicOp::new(op, Width::W64, data[0]));
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

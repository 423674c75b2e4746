//! Atomic operations, and that they are atomic with a CPU's own at the same time.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use ferroshmem_fabric::{AtomicOp, Op, Width};

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("atomics_of_both_widths", 2, every),
        Case::new("pinned_atomics", 2, every).pinned(),
        Case::new("rxm_atomics_of_both_widths", 2, every).by_rxm(),
        Case::new("posted_and_nonblocking_atomics", 3, posted),
        Case::new("atomic_with_the_cpus_own", 2, mixed),
    ]
}

fn every(job: &Job) {
    let next = job.next();
    for (width, mask) in [(Width::W64, u64::MAX), (Width::W32, u64::from(u32::MAX))] {
        let fetch = |op, operand, compare| {
            let at = job.at(next, 64);
            job.fabric.fetch(&job.context, at, AtomicOp { op, width, operand, compare })
        };
        let beside = job.word(72);
        beside.store(0x5555_5555_5555_5555, Relaxed);
        job.word(64).store(0x1111_2222_3333_4444, Relaxed);
        job.barrier();
        let mut now = 0x1111_2222_3333_4444 & mask;
        assert_eq!(fetch(Op::Read, 0, 0), now);
        let a = 0xdead_beef_cafe_f00d & mask;
        assert_eq!(fetch(Op::Swap, a, 0), now);
        now = a;
        assert_eq!(fetch(Op::Add, mask, 0), now); // wraps around
        now = now.wrapping_add(mask) & mask;
        assert_eq!(fetch(Op::And, 0xffff_0000_ffff & mask, 0), now);
        now &= 0xffff_0000_ffff & mask;
        assert_eq!(fetch(Op::Or, 1 << 31, 0), now);
        now |= 1 << 31;
        assert_eq!(fetch(Op::Xor, a, 0), now);
        now ^= a;
        assert_eq!(fetch(Op::CompareSwap, 5, now ^ 1), now, "differs");
        assert_eq!(fetch(Op::CompareSwap, 5, now), now, "equal");
        assert_eq!(fetch(Op::Write, 6, 0), 5);
        assert_eq!(fetch(Op::Read, 0, 0), 6);
        job.barrier();
        let upper = match width {
            Width::W64 => 0,
            Width::W32 => 0x1111_2222 << 32,
        };
        assert_eq!(job.word(64).load(Relaxed), upper | 6);
        assert_eq!(beside.load(Relaxed), 0x5555_5555_5555_5555);
        job.barrier();
    }
}

fn posted(job: &Job) {
    let (n, me) = (job.n, job.pe);
    for (width, mask) in [(Width::W64, u64::MAX), (Width::W32, u64::from(u32::MAX))] {
        for offset in [0, 8, 16, 24, 32] {
            job.word(offset).store(0, Relaxed);
        }
        job.word(8).store(mask, Relaxed);
        job.barrier();
        let mut results = vec![0u64; n * 100];
        for round in 0..100 {
            for pe in 0..n {
                let post = |offset, op, operand| {
                    job.fabric.post(&job.context, job.at(pe, offset), AtomicOp::new(op, width, operand));
                };
                post(0, Op::Add, 3);
                post(8, Op::And, !(1 << me));
                post(16, Op::Or, 1 << me);
                post(24, Op::Xor, 1 << me);
                let result = (&raw mut results[round * n + pe]).cast();
                let at = job.at(pe, 32);
                // SAFETY: the results live until quiet.
                unsafe {
                    let (op, context) = (Op::Add, &job.context);
                    job.fabric.fetch_nbi(context, at, AtomicOp::new(op, width, 1), result);
                }
            }
        }
        job.fabric.quiet(&job.context);
        // What one PE fetched from one counter rises.
        for pe in 0..n {
            let column: Vec<u64> = (0..100).map(|round| results[round * n + pe]).collect();
            let mut sorted = column.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), 100, "no value twice");
            assert!(sorted[99] < 100 * n as u64);
        }
        job.barrier();
        let all = (1u64 << n) - 1;
        let word = |offset| job.word(offset).load(Relaxed) & mask;
        assert_eq!(word(0), 300 * n as u64);
        assert_eq!(word(8), mask & !all);
        assert_eq!(word(16), all);
        assert_eq!(word(24), 0); // an even number of times
        assert_eq!(word(32), 100 * n as u64);
        job.barrier();
        job.fabric.post(&job.context, job.at(job.next(), 0), AtomicOp::new(Op::Write, width, 9));
        job.fabric.quiet_pe(&job.context, job.next());
        job.barrier();
        assert_eq!(word(0), 9);
        job.barrier();
    }
}

fn mixed(job: &Job) {
    if !job.fabric.atomics_by_cpu() {
        return;
    }
    const MOST: u64 = 5_000;
    let next = job.next();
    let done = AtomicBool::new(false);
    let (own, sent) = std::thread::scope(|scope| {
        let cpu = scope.spawn(|| {
            let mut own = 0u64;
            while !done.load(Relaxed) {
                job.word(0).fetch_add(1, Relaxed);
                job.half(8).fetch_add(1, Relaxed);
                let word = job.word(16);
                let _ = word.fetch_update(Relaxed, Relaxed, |v| Some(v + 1));
                job.word(24).fetch_xor(1 << 40, Relaxed);
                own += 1;
            }
            own
        });
        let post = |offset, op, width, operand| {
            let at = job.at(next, offset);
            job.fabric.post(&job.context, at, AtomicOp::new(op, width, operand));
        };
        let begin = Instant::now();
        let mut sent = 0;
        while sent < MOST && begin.elapsed() < Duration::from_secs(5) {
            for _ in 0..50 {
                post(0, Op::Add, Width::W64, 1);
                post(8, Op::Add, Width::W32, 1);
                post(24, Op::Xor, Width::W64, 1);
            }
            increase(job, 16);
            sent += 50;
        }
        job.fabric.quiet(&job.context);
        done.store(true, Relaxed);
        (cpu.join().unwrap(), sent)
    });
    let all = job.exchange(&sent.to_string());
    let came: u64 = all[next].parse().unwrap(); // the other of two
    assert_eq!(job.word(0).load(Relaxed), own + came);
    assert_eq!(job.half(8).load(Relaxed), (own + came) as u32);
    assert_eq!(job.word(16).load(Relaxed), own + came / 50);
    assert_eq!(job.word(24).load(Relaxed), ((own % 2) << 40) | (came % 2));
}

/// Adds 1 by compare and swap.
fn increase(job: &Job, offset: usize) {
    let at = job.at(job.next(), offset);
    let fetch =
        |op, operand, compare| job.fabric.fetch(&job.context, at, AtomicOp { op, width: Width::W64, operand, compare });
    let mut seen = fetch(Op::Read, 0, 0);
    loop {
        let was = fetch(Op::CompareSwap, seen + 1, seen);
        if was == seen {
            return;
        }
        seen = was;
    }
}

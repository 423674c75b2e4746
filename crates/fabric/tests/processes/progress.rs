//! Progress without the target's help, and what the progress thread costs.

use std::sync::atomic::Ordering::*;
use std::time::{Duration, Instant};

use ferroshmem_fabric::{AtomicOp, Op, Width};

use crate::job::{Case, Job};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case::new("target_computes", 2, computes),
        Case::new("idle_costs_nothing", 2, idle),
        Case::new("kept_back_writes_go_without_quiet", 2, eventually),
    ]
}

/// PE 1 computes until all has been done to it that can be, without calling anything.
fn computes(job: &Job) {
    if job.pe == 1 {
        while job.word(0).load(Acquire) == 0 {
            std::hint::spin_loop();
        }
        assert_eq!(job.word(8).load(Acquire), 5);
        assert!(!job.fabric.notifies_writes() || job.counts.changes.load(Relaxed) > 0);
        return;
    }
    let at = job.at(1, 4096);
    job.put(&job.context, at, &vec![0u8; 3 << 20]);
    job.fabric.quiet(&job.context);
    job.get(&job.context, at, 3 << 20);
    for i in 0..5 {
        let was = job.fabric.fetch(&job.context, job.at(1, 8), AtomicOp::new(Op::Add, Width::W64, 1));
        assert_eq!(was, i);
    }
    job.fabric.post(&job.context, job.at(1, 0), AtomicOp::new(Op::Write, Width::W64, 1));
    job.fabric.quiet(&job.context);
}

fn idle(job: &Job) {
    // Connected and quiet.
    job.fabric.post(&job.context, job.at(job.next(), 0), AtomicOp::new(Op::Add, Width::W64, 1));
    job.fabric.quiet(&job.context);
    job.barrier();
    let (before, begin) = (used(), Instant::now());
    std::thread::sleep(Duration::from_secs(2));
    let share = (used() - before).as_secs_f64() / begin.elapsed().as_secs_f64();
    eprintln!("idle: {:.2}% of a core", 100.0 * share);
    assert!(share < 0.05, "{share} of a core");
    assert!(job.counts.ticks.load(Relaxed) >= 10);
}

/// Time that this process has used.
fn used() -> Duration {
    // SAFETY: room for what is filled in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let time = |t: libc::timeval| Duration::from_secs(t.tv_sec as u64) + Duration::from_micros(t.tv_usec as u64);
    time(usage.ru_utime) + time(usage.ru_stime)
}

fn eventually(job: &Job) {
    if job.pe == 0 {
        for word in 0..100u64 {
            job.put_word(&job.context, job.at(1, word as usize * 16), word + 1);
        }
    } else {
        for word in 0..100 {
            while job.word(word * 16).load(Acquire) != word as u64 + 1 {
                std::thread::yield_now();
            }
        }
    }
    job.barrier();
}

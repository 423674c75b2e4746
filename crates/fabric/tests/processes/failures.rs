//! A PE that dies is noticed by PEs that have operations to it.

use std::time::Duration;

use ferroshmem_fabric::{Aggregate, AtomicOp, Op, Width};

use crate::job::{Case, Job, PEER_FAILED};

/// After that, operations of the other PE are under way.
pub(crate) const SOON: Duration = Duration::from_millis(50);

pub(crate) fn cases() -> Vec<Case> {
    let ends = |pe| (pe == 0).then_some(PEER_FAILED);
    vec![
        Case { ends, ..Case::new("killed_while_written_to", 2, |job| killed(job, false)) },
        Case { ends, ..Case::new("killed_while_own_endpoint_writes", 2, |job| killed(job, false)).own_endpoints(1) },
        Case { ends, ..Case::new("killed_while_idle", 2, |job| killed(job, true)) },
        Case {
            ends,
            ..Case::new("killed_while_puts_go_together", 2, killed_while_put_to).aggregating(Aggregate::default())
        },
        // What libfabric reports of an injected write that fails must not crash rxm.
        Case { ends, ..Case::new("killed_while_injected_to", 2, killed_while_injected_to) },
        Case {
            ends: |pe| (pe == 0).then_some(0),
            survives: true,
            ..Case::new("killed_and_outlived", 2, |job| outlive(job, true))
        },
        Case {
            ends: |pe| (pe == 0).then_some(0),
            survives: true,
            ..Case::new("killed_and_outlived_own_endpoint", 2, |job| outlive(job, true)).own_endpoints(1)
        },
        Case { survives: true, ..Case::new("shut_down", 2, |job| outlive(job, false)) },
    ]
}

/// PE 1 dies after this time.
pub(crate) fn die(job: &Job, after: Duration) {
    if job.pe == 1 {
        std::thread::sleep(after);
        // SAFETY: ends this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
}

/// PE 1 dies, and PE 0 goes on writing to it.
fn killed(job: &Job, idle: bool) {
    let data = vec![1u8; 1 << 20];
    job.fabric.post(&job.context, job.at(1, 0), AtomicOp::new(Op::Add, Width::W64, 1));
    job.fabric.quiet(&job.context);
    job.barrier();
    die(job, if idle { Duration::ZERO } else { SOON });
    if idle {
        std::thread::sleep(Duration::from_millis(200));
    }
    loop {
        job.put(&job.context, job.at(1, 0), &data[..8]);
        job.put(&job.context, job.at(1, 0), &data);
        job.fabric.quiet(&job.context);
    }
}

/// PE 1 dies while PE 0 has messages full of puts for it.
fn killed_while_put_to(job: &Job) {
    job.barrier();
    die(job, SOON);
    for i in 0u64.. {
        job.put_word(&job.context, job.at(1, 8 * (i as usize * 7919 % 1000)), i);
    }
}

/// PE 1 dies while PE 0 injects to it, and nothing else that could notice.
fn killed_while_injected_to(job: &Job) {
    let data = [1u8; 16];
    job.barrier();
    die(job, SOON);
    loop {
        // SAFETY: within heap and array.
        unsafe {
            job.fabric.inject(&job.context, job.at(1, 0), data.as_ptr(), data.len());
        }
    }
}

/// PE 0 goes on when PE 1 has died, or when it is told to, while threads of it wait: all operations return then.
fn outlive(job: &Job, dies: bool) {
    job.barrier();
    if dies {
        die(job, Duration::ZERO);
    }
    if job.pe == 0 {
        std::thread::scope(|threads| {
            threads.spawn(|| job.fabric.wait(|| false));
            threads.spawn(|| {
                while !job.fabric.is_shut_down() {
                    use_all(job);
                }
            });
            if !dies {
                std::thread::sleep(Duration::from_millis(20));
                job.fabric.shut_down();
            }
        });
        let failures = job.counts.failures.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(failures > 0, dies);
        // More than there are buffers for.
        for _ in 0..1000 {
            use_all(job);
        }
        assert_eq!(use_all(job), [0; 2]);
        if dies {
            std::process::exit(0);
        }
    }
}

/// Uses all operations on PE 1, and waits for them. What two of them get.
fn use_all(job: &Job) -> [u64; 2] {
    let (fabric, context) = (&job.fabric, &job.context);
    let (at, add) = (job.at(1, 64), AtomicOp::new(Op::Add, Width::W64, 1));
    let mut data = vec![0u8; 100_000];
    let mut word = u64::MAX;
    // SAFETY: within heap and buffers, which stay until quiet.
    unsafe {
        for len in [8, 1000, data.len()] {
            fabric.put(context, at, data.as_ptr(), len);
            fabric.put_nbi(context, at, data.as_ptr(), len);
            fabric.get(context, data.as_mut_ptr(), at, len);
            fabric.get_nbi(context, data.as_mut_ptr(), at, len);
        }
        fabric.inject(context, at, data.as_ptr(), 8);
        fabric.put_signalled(context, at, data.as_ptr(), 100, false);
        fabric.get(context, (&raw mut word).cast(), at, 8);
        fabric.post(context, at, add);
        fabric.fence(context);
        fabric.fetch_nbi(context, at, add, data.as_mut_ptr());
        fabric.quiet(context);
    }
    [word, fabric.fetch(context, at, add)]
}

//! A PE that dies is noticed by PEs that have operations to it.

use ferroshmem_fabric::{Aggregate, AtomicOp, Op, Width};

use crate::job::{Case, Job, PEER_FAILED};

pub(crate) fn cases() -> Vec<Case> {
    let ends = |pe| (pe == 0).then_some(PEER_FAILED);
    vec![
        Case {
            ends,
            ..Case::new("killed_while_written_to", 2, |job| killed(job, false))
        },
        Case {
            ends,
            ..Case::new("killed_while_idle", 2, |job| killed(job, true))
        },
        Case {
            ends,
            ..Case::new("killed_while_puts_go_together", 2, killed_while_put_to)
                .aggregating(Aggregate::default())
        },
        // What libfabric reports of an injected write that fails must not crash rxm.
        Case {
            ends,
            ..Case::new("killed_while_injected_to", 2, killed_while_injected_to)
        },
    ]
}

/// PE 1 dies, and PE 0 goes on writing to it.
fn killed(job: &Job, idle: bool) {
    let data = vec![1u8; 1 << 20];
    job.fabric.post(
        &job.context,
        job.at(1, 0),
        AtomicOp::new(Op::Add, Width::W64, 1),
    );
    job.fabric.quiet(&job.context);
    job.barrier();
    if job.pe == 1 {
        if !idle {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        // SAFETY: ends this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    if idle {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    loop {
        // SAFETY: within heap and buffer.
        unsafe {
            job.fabric.put(&job.context, job.at(1, 0), data.as_ptr(), 8);
            job.fabric
                .put(&job.context, job.at(1, 0), data.as_ptr(), data.len());
        }
        job.fabric.quiet(&job.context);
    }
}

/// PE 1 dies while PE 0 has messages full of puts for it.
fn killed_while_put_to(job: &Job) {
    job.barrier();
    if job.pe == 1 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        // SAFETY: ends this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    for i in 0u64.. {
        let at = job.at(1, 8 * (i as usize * 7919 % 1000));
        // SAFETY: within the heap.
        unsafe { job.fabric.put(&job.context, at, (&raw const i).cast(), 8) };
    }
}

/// PE 1 dies while PE 0 injects to it, and nothing else that could notice.
fn killed_while_injected_to(job: &Job) {
    let data = [1u8; 16];
    job.barrier();
    if job.pe == 1 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        // SAFETY: ends this process.
        unsafe { libc::raise(libc::SIGKILL) };
    }
    loop {
        // SAFETY: within heap and array.
        unsafe {
            job.fabric
                .inject(&job.context, job.at(1, 0), data.as_ptr(), data.len());
        }
    }
}

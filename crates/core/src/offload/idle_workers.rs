//! Workers that run on idle cores alone. They have the policy `SCHED_IDLE`: the kernel gives them a core that has
//! nothing else to do, and takes it back as soon as another thread is ready there. So they may use any core of the
//! job's PEs on the node, also that of a PE that sleeps.
//!
//! A worker that loses its core may have taken a chunk, for which a thread of the PE then waits. That thread moves the
//! workers to its own core, and sleeps until they have run there.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use ferroshmem_platform::{Cores, thread};
use rustix::thread::{Pid, gettid, sched_getcpu};

use crate::job;

/// A few threads copy as fast as a socket's memory allows; more would take caches and power from others.
const MOST: usize = 4;

/// Thread numbers of the workers; 0: none.
static WORKERS: [AtomicI32; MOST] = [const { AtomicI32::new(0) }; MOST];

/// Where they may run.
static CORES: OnceLock<Cores> = OnceLock::new();

/// How many each of a node's PEs has.
pub(super) fn number(cores: usize, pes: usize) -> u32 {
    if cores < 2 || pes > cores {
        return 0;
    }
    (cores / pes - 1).clamp(1, MOST) as u32
}

/// Starts the worker of a number below [`MOST`], which does `work`, or if the system refuses the policy, `refuse`.
pub(super) fn start(number: usize, work: fn(), refuse: fn()) -> io::Result<()> {
    let cores = CORES.get_or_init(cores_of_pes);
    let body = move || {
        if !thread::become_idle() {
            return refuse();
        }
        cores.bind(None);
        WORKERS[number].store(gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        work();
    };
    thread::spawn("shmem-worker", 64 << 10, body).map(drop)
}

/// What any PE of the job on this node may use: launchers bind each to some.
fn cores_of_pes() -> Cores {
    let mut cores = Cores::of_this_process();
    if let Some(job) = job::joined() {
        let pids = (0..job.control.n_pes()).map(|pe| &job.control.pe_block(pe).pid);
        for pid in pids.filter_map(|pid| Pid::from_raw(pid.load(Ordering::Relaxed).cast_signed())) {
            cores.add(&Cores::of(Some(pid)));
        }
    }
    cores
}

/// What time of a processor the workers have used together.
pub(super) fn time_used() -> Duration {
    let of = |tid: i32| {
        // The kernel's number of the clock of a thread (CLOCK_THREAD_CPUTIME_ID of another one).
        let clock = !tid << 3 | 6;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live timespec.
        match unsafe { libc::clock_gettime(clock, &raw mut time) } {
            0 => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            _ => Duration::ZERO,
        }
    };
    WORKERS.iter().map(|tid| tid.load(Ordering::Relaxed)).filter(|tid| *tid != 0).map(of).sum()
}

/// Lets the workers run on the core of the calling thread alone, which is about to sleep.
#[cold]
pub(super) fn move_here() {
    bind(&Cores::default().with(sched_getcpu()));
}

/// Lets them run where they could before.
#[cold]
pub(super) fn move_back() {
    if let Some(cores) = CORES.get() {
        bind(cores);
    }
}

fn bind(cores: &Cores) {
    let threads = WORKERS.iter().map(|tid| tid.load(Ordering::Relaxed));
    threads.filter_map(Pid::from_raw).for_each(|tid| cores.bind(Some(tid)));
}

/// In a child of `fork`, which has none of them.
pub(super) fn forget_in_child() {
    for tid in &WORKERS {
        tid.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_pe_has_workers_where_pes_outnumber_cores() {
        assert_eq!([number(1, 1), number(2, 3), number(2, 2), number(2, 1)], [0, 0, 1, 1]);
        assert_eq!([number(64, 16), number(64, 1), number(64, 64)], [3, 4, 1]);
    }
}

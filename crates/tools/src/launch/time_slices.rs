//! Short time slices for PEs that share cores (`--time-slice`).
//!
//! A PE that looks at memory in a loop of its own calls nothing of the library, so that no call can give its core to
//! the PE that it waits for: the kernel does, when the clock's next tick comes, after up to 4 ms. It also does where
//! another thread has woken up on the core: it then chooses anew among all that want to run. So one thread for each
//! core does nothing but wake up, as often as asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::unistd::Pid;

/// The threads, which end with this.
#[derive(Debug)]
pub(super) struct TimeSlices {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl TimeSlices {
    /// PEs on `cpus` lose their core after `slice` to another that wants it. A CPU that cannot be used, or no room for
    /// a thread, leaves the slices there as they are.
    pub(super) fn start(cpus: &[usize], slice: Duration) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let threads = cpus.iter().filter_map(|cpu| {
            let (cpu, over) = (*cpu, Arc::clone(&over));
            let thread = thread::Builder::new().name(format!("slices of {cpu}"));
            thread.spawn(move || keep(cpu, slice, &over)).ok()
        });
        let threads = threads.collect();
        Self { over, threads }
    }
}

impl Drop for TimeSlices {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn keep(cpu: usize, slice: Duration, over: &AtomicBool) {
    let mut mask = CpuSet::new();
    let this_thread = Pid::from_raw(0);
    if mask.set(cpu).and_then(|()| sched_setaffinity(this_thread, &mask)).is_err() {
        return;
    }
    // Else it wakes up to 50 us late.
    let _ = prctl::set_timerslack(1);
    while !over.load(Ordering::Relaxed) {
        thread::park_timeout(slice);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The threads of this process that keep slices: how often each has left its core.
    fn switches() -> Vec<u64> {
        let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
        tasks
            .filter_map(|task| {
                let status = fs::read_to_string(task.path().join("status")).ok()?;
                status.starts_with("Name:\tslices of ").then_some(())?;
                let line = status.lines().find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
                line.trim().parse().ok()
            })
            .collect()
    }

    #[test]
    fn a_thread_of_each_cpu_wakes_up_until_the_end() {
        let here = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap();
        let cpus: Vec<usize> = (0..CpuSet::count()).filter(|cpu| here.is_set(*cpu) == Ok(true)).collect();
        // Long ones do not delay the end.
        for (slice, times) in [(Duration::from_micros(100), 10), (Duration::from_secs(1 << 20), 0)] {
            let slices = TimeSlices::start(&cpus, slice);
            let woken = || {
                let switches = switches();
                switches.len() == cpus.len() && switches.iter().all(|n| *n > times)
            };
            // Progress is what is waited for, however busy the machine.
            while !woken() {
                thread::yield_now();
            }
            drop(slices);
            assert!(switches().is_empty());
        }
    }
}

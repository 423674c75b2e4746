//! What a PE does that waits in no routine of the library: the kernel knows whether it uses processor time.

use std::thread::sleep;
use std::time::Duration;

use ferroshmem_platform::process;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

/// Time between the two looks at a process.
const LOOK: Duration = Duration::from_millis(100);
/// Processor time in between by which a process counts as running; one that sleeps uses less.
const USED: Duration = Duration::from_millis(1);

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CpuActivity {
    /// It uses processor time, or would if a core were free.
    Runs,
    /// It uses none.
    Sleeps,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// It has ended.
    Gone,
}

/// What these processes do: looks twice, unless there are none.
pub(super) fn observe(processes: &[Pid]) -> Vec<CpuActivity> {
    if processes.is_empty() {
        return Vec::new();
    }
    let before: Vec<_> = processes.iter().map(|pid| processor_time(*pid)).collect();
    sleep(LOOK);
    let looks = processes.iter().zip(before);
    looks.map(|(pid, before)| activity(*pid, before)).collect()
}

fn activity(pid: Pid, before: Option<Duration>) -> CpuActivity {
    match process::state_of(pid.as_raw()) {
        Some(b'T' | b't') => CpuActivity::Stopped,
        Some(b'R') => CpuActivity::Runs,
        Some(b'Z' | b'X') | None => CpuActivity::Gone,
        _ => {
            let used = before.zip(processor_time(pid));
            let used = used.map_or(Duration::ZERO, |(b, a)| a.saturating_sub(b));
            if used >= USED { CpuActivity::Runs } else { CpuActivity::Sleeps }
        }
    }
}

/// Processor time of all threads.
fn processor_time(pid: Pid) -> Option<Duration> {
    let time = clock_gettime(clock_getcpuclockid(pid).ok()?).ok()?;
    Some(time.into())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use nix::sys::signal::{Signal, kill};

    use super::*;

    fn start(script: &str) -> (Child, Pid) {
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32);
        (child, pid)
    }

    /// Looks until it is so: a process takes a moment to start.
    fn comes_to(pid: Pid, wanted: CpuActivity) {
        while observe(&[pid]) != [wanted] {}
    }

    #[test]
    fn processes_that_run_sleep_stop_and_end() {
        let (mut busy, runs) = start("while :; do :; done");
        let (mut idle, sleeps) = start("exec sleep 1000");
        comes_to(runs, CpuActivity::Runs);
        comes_to(sleeps, CpuActivity::Sleeps);
        kill(runs, Signal::SIGSTOP).unwrap();
        comes_to(runs, CpuActivity::Stopped);
        for child in [&mut busy, &mut idle] {
            child.kill().unwrap();
        }
        comes_to(runs, CpuActivity::Gone);
        for child in [&mut busy, &mut idle] {
            child.wait().unwrap();
        }
        assert_eq!(observe(&[runs]), [CpuActivity::Gone]);
        assert_eq!(observe(&[]), []);
    }
}

//! Whether the PEs of a job that was asked for come to `shmem_init`, for which its parents wait.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use ferroshmem_platform::process;

/// Looks at the processes within the limit.
const LOOKS: u32 = 20;

/// Watches PEs that are not in `shmem_init` yet. On a loaded machine a start takes long, so the limit is on the
/// time in which none of them, nor any process below them, uses a core or is ready to.
#[derive(Debug)]
pub(super) struct Initialization {
    limit: Duration,
    /// When to look next.
    next: Instant,
    /// The last look at which there was progress.
    progress: Instant,
    ticks: u64,
}

impl Initialization {
    /// Begins to watch.
    pub(super) fn new(limit: Duration, now: Instant) -> Self {
        Self { limit, next: now + limit / LOOKS, progress: now, ticks: 0 }
    }

    /// When to look next.
    pub(super) fn next_check(&self) -> Instant {
        self.next
    }

    /// Looks at the processes of the PEs that are missing, if that is due; whether they have made no progress
    /// for the limit.
    pub(super) fn expired(&mut self, now: Instant, missing: &[i32]) -> bool {
        if now < self.next {
            return false;
        }
        self.next = now + self.limit / LOOKS;
        let (ticks, ready) = use_of_cores(missing);
        if ready || ticks != self.ticks {
            self.progress = now;
        }
        self.ticks = ticks;
        now.saturating_duration_since(self.progress) >= self.limit
    }
}

/// Processor time, in ticks, of these processes and those below them; and whether one of them runs, waits for a
/// core or a disk, is stopped, or has a debugger attached, whose user may take as long as he likes.
fn use_of_cores(roots: &[i32]) -> (u64, bool) {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut others: Vec<(i32, i32, Vec<u8>)> = pids
        .filter_map(|pid| {
            let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
            let parent = process::fields(&stat)?.nth(1)?.parse().ok()?;
            Some((pid, parent, stat))
        })
        .collect();
    let mut known: HashSet<i32> = HashSet::new();
    let (mut ticks, mut ready) = (0, false);
    loop {
        let (below, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|(pid, parent, _)| roots.contains(pid) || known.contains(parent));
        if below.is_empty() {
            return (ticks, ready);
        }
        for (pid, _, stat) in below {
            known.insert(pid);
            ticks += process::ticks(&stat).unwrap_or(0);
            ready |= matches!(process::state(&stat), Some(b'R' | b'D' | b'T' | b't'));
            ready |= process::is_traced(pid);
        }
        others = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};
    use std::thread::sleep;

    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;

    const LIMIT: Duration = Duration::from_millis(500);

    struct Shell(Child);

    impl Drop for Shell {
        fn drop(&mut self) {
            // A child of the shell, too.
            let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
            let _ = self.0.wait();
        }
    }

    /// Whether a process that runs this script is given up, within four limits.
    fn given_up(script: &str) -> bool {
        given_up_after(script, |_| ())
    }

    fn given_up_after(script: &str, prepare: impl FnOnce(i32)) -> bool {
        let shell = Shell(Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap());
        prepare(shell.0.id() as i32);
        let begin = Instant::now();
        let mut watch = Initialization::new(LIMIT, begin);
        while begin.elapsed() < LIMIT * 4 {
            if watch.expired(Instant::now(), &[shell.0.id() as i32]) {
                return true;
            }
            sleep(Duration::from_millis(20));
        }
        false
    }

    #[test]
    fn a_process_that_sleeps_is_given_up() {
        assert!(given_up("exec sleep 60"));
    }

    #[test]
    fn a_process_under_a_debugger_is_kept() {
        assert!(!given_up_after("exec sleep 60", |pid| {
            let none = std::ptr::null_mut::<libc::c_void>();
            // SAFETY: attaches to the child, without stopping it.
            let attached = unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, none, none) };
            assert_eq!(attached, 0);
        }));
    }

    #[test]
    fn a_process_that_computes_is_kept() {
        assert!(!given_up("while :; do :; done"));
    }

    #[test]
    fn a_process_whose_child_computes_is_kept() {
        assert!(!given_up("sh -c 'while :; do :; done'; true"));
    }
}

//! Ending every process below this one, however deep.
//!
//! Launcher and supervisor are subreapers: when a process below them dies, its children become their
//! own. So ending children until there are none ends all descendants.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_platform::process;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use rustix::io::Errno;
use rustix::process::WaitOptions;

use crate::inspect;

/// How long a process may take to end after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_millis(300);
/// How long a process may take to end after SIGKILL: longer only if the kernel is stuck.
const STUCK: Duration = Duration::from_secs(5);

/// Result of [`reap`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reaped {
    /// This child has ended.
    Child(Pid, ExitStatus),
    /// No child has ended, but there are some.
    NoneYet,
    /// There are no children.
    NoneLeft,
}

/// Collects one child that has ended. (nix's `waitpid` loses children that a real-time
/// signal killed.)
pub(super) fn reap() -> Reaped {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(None) => return Reaped::NoneYet,
            Ok(Some((pid, status))) => {
                let pid = Pid::from_raw(pid.as_raw_nonzero().get());
                if status.stopped() {
                    // It has halted, after a look at it was given up.
                    inspect::release(pid);
                    continue;
                }
                return Reaped::Child(pid, ExitStatus::from_raw(status.as_raw()));
            }
            Err(Errno::INTR) => {}
            Err(_) => return Reaped::NoneLeft,
        }
    }
}

/// Ends all descendants: by SIGTERM first if `grace` is given, then by SIGKILL. Returns the number of
/// processes that even SIGKILL does not end.
pub(super) fn end_all(grace: Option<Duration>) -> usize {
    let begin = Instant::now();
    let mut terminated = Vec::new();
    let mut pause = Duration::from_micros(200);
    loop {
        match reap() {
            Reaped::Child(..) => continue,
            Reaped::NoneLeft => return 0,
            Reaped::NoneYet => {}
        }
        let children = children();
        let age = begin.elapsed();
        if grace.is_none_or(|g| age >= g) {
            for child in &children {
                let _ = kill(*child, Signal::SIGKILL);
            }
        } else {
            for child in children.iter().filter(|c| !terminated.contains(*c)) {
                let _ = kill(*child, Signal::SIGTERM);
            }
            terminated.clone_from(&children);
        }
        if age > STUCK + grace.unwrap_or_default() {
            return children.len();
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// The children of this process, from `/proc/*/stat`. (`/proc/self/task/*/children` would
/// be one read, but not every kernel has it.)
fn children() -> Vec<Pid> {
    let me = getpid().as_raw();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| {
            let stat = fs::read(format!("/proc/{pid}/stat"));
            stat.is_ok_and(|stat| parent(&stat) == Some(me))
        })
        .map(Pid::from_raw)
        .collect()
}

/// The parent in a line of `/proc/<pid>/stat`: the second field after the name.
fn parent(stat: &[u8]) -> Option<i32> {
    process::fields(stat)?.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents() {
        assert_eq!(parent(b"12 (a) b) c) S 7 12 12 0"), Some(7));
        assert_eq!(parent(b"12 (sh"), None);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(children().contains(&Pid::from_raw(child.id() as i32)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

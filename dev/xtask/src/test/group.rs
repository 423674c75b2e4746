//! The processor time of a step with all of its processes, by a control group: daemons and orphans are in no sum of
//! processes that were waited for.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Where control groups are.
const ROOT: &str = "/sys/fs/cgroup";

/// How often the group is tried to be removed, while the kernel ends its last processes, and the time between.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A control group below this process's. Dropping it removes it once it has no process.
#[derive(Debug)]
pub(super) struct Group(PathBuf);

impl Group {
    /// An empty group; none where this user may not make one.
    pub(super) fn new() -> Option<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);

        let name = format!("xtask-{}-{}", process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        own.lines().filter_map(folder).find_map(|folder| {
            let folder = Path::new(ROOT).join(folder).join(&name);
            fs::create_dir(&folder).ok()?;
            let group = Self(folder);
            group.used().is_some().then_some(group)
        })
    }

    /// Has a command run in the group, with all that it starts.
    ///
    /// # Errors
    /// If the group cannot take processes.
    pub(super) fn take(&self, command: &mut Command) -> io::Result<()> {
        let processes = File::options().write(true).open(self.0.join("cgroup.procs"))?;
        // SAFETY: between fork and exec, the closure makes one system call. The process that writes 0 moves itself; one
        // that may not runs where it is.
        unsafe {
            command.pre_exec(move || {
                let _ = io::Write::write(&mut &processes, b"0");
                Ok(())
            });
        }
        Ok(())
    }

    /// The processor time that its processes have used, those that have ended among them.
    pub(super) fn used(&self) -> Option<Duration> {
        let read = |file| fs::read_to_string(self.0.join(file)).ok();
        if let Some(nanoseconds) = read("cpuacct.usage") {
            return nanoseconds.trim().parse().ok().map(Duration::from_nanos);
        }
        let microseconds = read("cpu.stat")?.lines().find_map(|line| line.strip_prefix("usage_usec ")?.parse().ok());
        microseconds.map(Duration::from_micros)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for _ in 0..ATTEMPTS {
            if fs::remove_dir(&self.0).is_ok() {
                break;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The folder below [`ROOT`] of the group in a line of `/proc/PID/cgroup`, if it counts processor time: that of the
/// first version's controller, which has a link of its name where others share its folder, or of the second version.
fn folder(line: &str) -> Option<String> {
    let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
    match controllers {
        "" => Some(path.trim_start_matches('/').to_owned()),
        some if some.split(',').any(|name| name == "cpuacct") => Some(format!("cpuacct{path}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found() {
        assert_eq!(folder("2:cpu,cpuacct:/a/b").unwrap(), "cpuacct/a/b");
        assert_eq!(folder("2:cpuacct:/").unwrap(), "cpuacct/");
        assert_eq!(folder("0::/user.slice/a").unwrap(), "user.slice/a");
        assert_eq!(folder("3:cpuset:/"), None);
    }
}

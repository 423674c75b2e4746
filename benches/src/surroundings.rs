//! What the measured jobs share the machine with: compute-bound processes, or a limit on processor time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// Processes that compute until this is dropped. They are waited for, so their time counts as this
/// process's.
#[derive(Debug)]
pub struct Load(Vec<Child>);

impl Load {
    /// So many of them, on whichever cores the kernel gives them.
    ///
    /// # Errors
    /// If a process cannot be started.
    pub fn start(processes: usize) -> io::Result<Self> {
        let mut load = Self(Vec::new());
        for _ in 0..processes {
            let mut command = Command::new("sh");
            command.args(["-c", "while :; do :; done"]);
            load.0.push(command.stdin(Stdio::null()).spawn()?);
        }
        Ok(load)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It has no reason to end by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A control group with a limit on processor time. It is removed when this is dropped, if its processes have
/// ended.
#[derive(Debug)]
pub struct Quota {
    folder: PathBuf,
    /// Where this process belongs.
    home: PathBuf,
}

/// The period in which the limit holds, in microseconds: the kernel's default.
const PERIOD: u32 = 100_000;

impl Quota {
    /// A group that may use the time of so many cores.
    ///
    /// # Errors
    /// If this process may not make groups, or the kernel limits no time.
    pub fn new(cores: f64) -> Result<Self> {
        let groups = fs::read_to_string("/proc/self/cgroup")?;
        let limit = (f64::from(PERIOD) * cores).round();
        let (root, own, limits) = match controller(&groups, "cpu") {
            Some(own) => {
                let limits = [("cpu.cfs_period_us", PERIOD.to_string()), ("cpu.cfs_quota_us", limit.to_string())];
                ("/sys/fs/cgroup/cpu", own, limits.to_vec())
            }
            None => {
                let own = controller(&groups, "").context("there are no control groups")?;
                let limits = [("cpu.max", format!("{limit} {PERIOD}"))];
                ("/sys/fs/cgroup", own, limits.to_vec())
            }
        };
        let home = Path::new(root).join(own.trim_start_matches('/'));
        let folder = home.join(format!("ferroshmem-benches-{}", process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let this = Self { folder, home };
        for (file, value) in limits {
            let file = this.folder.join(file);
            if !file.exists() {
                bail!("{} is missing: the kernel limits no time here", file.display());
            }
            fs::write(&file, &value).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(this)
    }

    /// Does `start` in the group, and leaves there the processes that it starts.
    ///
    /// # Errors
    /// If this process may not enter the group, or leave it.
    pub fn around<T>(&self, start: impl FnOnce() -> T) -> Result<T> {
        enter(&self.folder)?;
        let started = start();
        enter(&self.home)?;
        Ok(started)
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // Processes that have just ended leave it a moment later.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Moves this process to a group.
fn enter(folder: &Path) -> Result<()> {
    let file = folder.join("cgroup.procs");
    fs::write(&file, process::id().to_string()).with_context(|| format!("cannot write {}", file.display()))
}

/// This process's group of a controller, in the text of `/proc/self/cgroup`.
fn controller<'t>(groups: &'t str, name: &str) -> Option<&'t str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|one| one == name).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_found_in_both_versions() {
        let first = "9:name=systemd:/\n2:cpuacct,cpu:/a/b\n0::/c\n";
        assert_eq!(controller(first, "cpu"), Some("/a/b"));
        assert_eq!(controller(first, ""), Some("/c"));
        assert_eq!(controller("0::/user.slice\n", "cpu"), None);
    }

    /// Where groups can be made: the processes that are started there are in it, and it is gone afterwards.
    #[test]
    fn a_quota_holds_what_is_started_in_it() {
        let quota = match Quota::new(0.5) {
            Ok(quota) => quota,
            Err(error) => {
                println!("skipped: {error:#}");
                return;
            }
        };
        let folder = quota.folder.clone();
        let start = || Command::new("cat").arg("/proc/self/cgroup").output();
        let shown = quota.around(start).unwrap().unwrap();
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(String::from_utf8_lossy(&shown.stdout).contains(&name));
        let home = fs::read_to_string("/proc/self/cgroup").unwrap();
        assert!(!home.contains(&name), "{home}");
        drop(quota);
        assert!(!folder.exists());
    }
}

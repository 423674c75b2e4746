//! What jobs may have left on the machine: processes, files, shared memory.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every process of a job carries this variable; its value names the job.
pub const MARK_VARIABLE: &str = "FERROSHMEM_TEST_MARK";

/// After a job has ended, its processes and files may take this long to go.
pub(crate) const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Ids of the living processes that carry `mark`.
pub fn marked_processes(mark: &str) -> Vec<Pid> {
    let needle = format!("{MARK_VARIABLE}={mark}");
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()).map(Pid::from_raw));
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ"));
        environment.is_ok_and(|e| e.split(|b| *b == 0).any(|v| v == needle.as_bytes()))
    })
    .collect()
}

/// Kills what still carries `mark`.
pub fn kill_marked(mark: &str) {
    for pid in marked_processes(mark) {
        // It may have ended meanwhile, which is as good.
        let _ = kill(pid, Signal::SIGKILL);
    }
}

/// Files and shared memory of the machine at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Names in `/dev/shm`.
    pub shm: BTreeSet<OsString>,
    /// `Shmem` of `/proc/meminfo`: memory in memory files and shared mappings, in KiB.
    pub shared_kib: u64,
}

impl Machine {
    /// Looks at the machine.
    pub fn now() -> Self {
        /// What jobs of MPICH and of Open MPI leave that were killed, as another test program's are.
        const OTHERS: [&str; 2] = ["mpich_shm_", "sm_segment."];

        let names = fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|entry| entry.file_name());
        let is_of_others = |name: &OsString| OTHERS.iter().any(|of| name.to_string_lossy().starts_with(of));
        let shm = names.filter(|name| !is_of_others(name)).collect();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let shared_kib = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("Shmem:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
            .unwrap_or(0);
        Self { shm, shared_kib }
    }

    /// Names in `/dev/shm` that are not in this look at the machine and stay there, although no process uses
    /// them. A job of another library may need a moment to remove its files after its processes.
    pub fn left_files(&self) -> Vec<OsString> {
        let start = Instant::now();
        loop {
            let left = Self::now().new_files(self);
            if left.is_empty() || start.elapsed() > GONE_WITHIN {
                return left;
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Names in `/dev/shm` that were not there `before`, and that no process uses: jobs of other libraries make
    /// some while they run.
    pub fn new_files(&self, before: &Self) -> Vec<OsString> {
        let mut new: Vec<_> = self.shm.difference(&before.shm).cloned().collect();
        if !new.is_empty() {
            let used = used_files();
            let folder = Path::new("/dev/shm");
            new.retain(|name| {
                let path = folder.join(name);
                !used.contains(&path) && path.exists()
            });
        }
        new
    }
}

/// The files in `/dev/shm` that processes have mapped or open.
fn used_files() -> BTreeSet<PathBuf> {
    let mut used = BTreeSet::new();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    for process in processes.map(|entry| entry.path()) {
        let open = fs::read_dir(process.join("fd"));
        for file in open.into_iter().flatten().flatten() {
            used.extend(fs::read_link(file.path()));
        }
        let mapped = fs::read_to_string(process.join("maps")).unwrap_or_default();
        let paths = mapped.lines().filter_map(|line| line.find("/dev/shm/").map(|at| &line[at..]));
        used.extend(paths.map(PathBuf::from));
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn files_that_a_process_uses_are_not_left() {
        let before = Machine::now();
        let path = PathBuf::from(format!("/dev/shm/leftover-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let mine = |files: Vec<OsString>| files.contains(&path.file_name().unwrap().to_owned());
        assert!(!mine(Machine::now().new_files(&before)));
        drop(file);
        assert!(mine(Machine::now().new_files(&before)));
        fs::remove_file(&path).unwrap();
        assert!(!mine(Machine::now().new_files(&before)));
    }
}

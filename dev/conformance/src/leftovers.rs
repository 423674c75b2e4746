//! What jobs may have left on the machine: processes, files, shared memory.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Every process of a job carries this variable; its value names the job.
pub const MARK_VARIABLE: &str = "FERROSHMEM_TEST_MARK";

/// Ids of the living processes that carry `mark`.
pub fn marked_processes(mark: &str) -> Vec<Pid> {
    let needle = format!("{MARK_VARIABLE}={mark}");
    let pids = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            entry
                .file_name()
                .to_str()
                .and_then(|name| name.parse().ok())
                .map(Pid::from_raw)
        });
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
        let names = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
        let shm = names.map(|e| e.file_name()).collect();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let shared_kib = meminfo
            .lines()
            .find_map(|line| line.strip_prefix("Shmem:"))
            .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok())
            .unwrap_or(0);
        Self { shm, shared_kib }
    }

    /// Names in `/dev/shm` that were not there `before`.
    pub fn new_files(&self, before: &Self) -> Vec<OsString> {
        self.shm.difference(&before.shm).cloned().collect()
    }
}

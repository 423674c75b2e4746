//! How much memory a cache may keep registered.

use std::fs;

use rustix::process::{Resource, getrlimit};

/// What the regions of a [`Cache`](super::Cache) may come to, those in use included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes, counted in whole pages; memory in two regions counts twice, as it does for
    /// `RLIMIT_MEMLOCK`.
    pub bytes: usize,
    /// Regions. More than 4,096 are not kept in a process, whatever this says.
    pub regions: usize,
}

impl Limits {
    /// For one of `processes` processes of this job on this machine: its share of half the
    /// memory; and at most half of what it may lock, since heap and buffers are registered
    /// too.
    pub fn of_machine(processes: usize) -> Limits {
        let share = memory() / 2 / processes.max(1);
        let bytes = lockable().map_or(share, |lockable| share.min(lockable / 2));
        Limits { bytes, regions: 1024 }
    }
}

/// Bytes of memory of the machine.
fn memory() -> usize {
    // SAFETY: sysconf takes no pointers.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    usize::try_from(pages.saturating_mul(size)).unwrap_or(0)
}

/// Bytes that this process may lock; None if the kernel does not limit it.
fn lockable() -> Option<usize> {
    const CAP_IPC_LOCK: u32 = 14;
    let limit = getrlimit(Resource::Memlock).current?;
    let exempt = effective_capabilities().is_some_and(|set| set >> CAP_IPC_LOCK & 1 == 1);
    (!exempt).then(|| usize::try_from(limit).unwrap_or(usize::MAX))
}

fn effective_capabilities() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let set = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

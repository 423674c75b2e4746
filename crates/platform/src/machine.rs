//! Facts of the machine: cores, memory, pages.

use std::fs;

use rustix::process::Resource;

use super::cores::{Cores, NodeCores};

/// The machine as this process may use it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Cores in this process's affinity mask, or fewer by its control group's quota: at most twice those whose
    /// time it gives.
    pub cores: usize,
    /// Whether there is such a quota.
    pub quota: bool,
    /// Bytes of memory: the machine's, or what its control group allows.
    pub memory: u64,
    /// Bytes of address space that this process may use (`RLIMIT_AS`), if it is limited.
    pub address_space: Option<u64>,
    /// Bytes of a page.
    pub page_size: usize,
    /// The kernel's setting for huge pages in shared memory.
    pub huge_pages: String,
}

impl Machine {
    /// What PEs on it may use.
    pub fn node_cores(&self) -> NodeCores {
        NodeCores { count: self.cores, quota: self.quota }
    }

    /// Looks at this machine.
    pub fn here() -> Self {
        let cores = NodeCores::new(&Cores::of_this_process());
        Self {
            cores: cores.count,
            quota: cores.quota,
            memory: memory(),
            address_space: address_space_limit(),
            page_size: page_size(),
            huge_pages: huge_pages(),
        }
    }
}

/// Bytes of a page.
pub fn page_size() -> usize {
    // Not by sysconf, whose table is in a page that a PE reads for nothing else.
    // SAFETY: takes no pointers.
    unsafe { libc::getauxval(libc::AT_PAGESZ) as usize }
}

/// Bytes of memory this process could use: physical memory, or the control group's limit if
/// smaller.
fn memory() -> u64 {
    let system = rustix::system::sysinfo();
    let physical = system.totalram * u64::from(system.mem_unit);
    control_group_limit().map_or(physical, |limit| limit.min(physical))
}

/// The smallest `memory.max` on the way from this process's control group to the root
/// (version 2), or the version 1 limit.
fn control_group_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mut least: Option<u64> = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            c if c.split(',').any(|c| c == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let mut dir = format!("{root}{path}");
        loop {
            let limit = fs::read_to_string(format!("{dir}/{file}")).ok();
            if let Some(bytes) = limit.and_then(|t| t.trim().parse::<u64>().ok()) {
                least = Some(least.map_or(bytes, |l| l.min(bytes)));
            }
            match dir.rfind('/') {
                Some(cut) if cut >= root.len() => dir.truncate(cut),
                _ => break,
            }
        }
    }
    least
}

/// Bytes of address space that this process may use (`RLIMIT_AS`), if it is limited.
pub fn address_space_limit() -> Option<u64> {
    rustix::process::getrlimit(Resource::As).current
}

fn huge_pages() -> String {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let Ok(text) = text else {
        return "not offered by this kernel".into();
    };
    text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']')).unwrap_or("unknown").to_owned()
}

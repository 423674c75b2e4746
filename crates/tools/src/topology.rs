//! Which CPUs share a core, a cache, a NUMA node and a socket, as `/sys` says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use ferroshmem_platform::{Cores, number_list};

/// A CPU, as the kernel numbers them: a hardware thread of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cpu {
    /// The first CPU of its socket; so are the following.
    pub socket: usize,
    /// Number of its NUMA node.
    pub numa: usize,
    /// Of those that share its last-level cache.
    pub cache: usize,
    /// Of its core.
    pub core: usize,
    /// Its own number.
    pub number: usize,
}

/// The CPUs that PEs may use, sorted so that neighbours are near each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Topology(pub Vec<Cpu>);

impl Topology {
    /// That of this machine, of the CPUs that this process may use: read once, as jobs may be started often.
    pub(crate) fn here() -> &'static Self {
        static HERE: OnceLock<Topology> = OnceLock::new();
        HERE.get_or_init(|| Self::of(&Cores::of_this_process()))
    }

    /// That of this machine, of these CPUs.
    pub(crate) fn of(cpus: &Cores) -> Self {
        Self::read(Path::new("/sys/devices/system"), cpus)
    }

    /// The CPUs `cpus` of it.
    ///
    /// # Errors
    /// If it does not have all of them.
    pub(crate) fn part(&self, cpus: &BTreeSet<usize>) -> Result<Self, String> {
        let part = self.0.iter().filter(|cpu| cpus.contains(&cpu.number));
        let part = Self(part.copied().collect());
        if part.0.len() == cpus.len() {
            return Ok(part);
        }
        let list = |cpus: &BTreeSet<usize>| {
            let numbers: Vec<_> = cpus.iter().copied().collect();
            number_list::list(&numbers)
        };
        let all = self.0.iter().map(|cpu| cpu.number).collect();
        Err(format!("cpus is {:?}: give CPUs that oshrun may use, {}", list(cpus), list(&all)))
    }

    /// The CPUs `allowed`, as `devices` (`/sys/devices/system`) describes them. What it leaves out is
    /// taken to be one: a core for each CPU, one cache, one NUMA node, one socket.
    fn read(devices: &Path, allowed: &Cores) -> Self {
        let list = |path: &str| {
            let text = fs::read_to_string(devices.join(path)).ok()?;
            Some(number_list::numbers(text.trim())).filter(|cpus| !cpus.is_empty())
        };
        let mut numa_of = BTreeMap::new();
        for node in list("node/online").unwrap_or_default() {
            for cpu in list(&format!("node/node{node}/cpulist")).unwrap_or_default() {
                numa_of.insert(cpu, node);
            }
        }
        // A list names all CPUs of a group, so a file is read once for each group.
        let (mut core_of, mut cache_of, mut socket_of) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let group = |of: &mut BTreeMap<usize, usize>, cpu: usize, files: &[&str], alone: usize| {
            if let Some(first) = of.get(&cpu) {
                return *first;
            }
            let found = files.iter().find_map(|file| list(&format!("cpu/cpu{cpu}/{file}")));
            let members = found.unwrap_or_default();
            let first = members.first().copied().unwrap_or(alone);
            of.extend(members.into_iter().map(|member| (member, first)));
            first
        };
        let mut cpus: Vec<Cpu> = allowed
            .iter()
            .map(|number| Cpu {
                socket: group(&mut socket_of, number, SOCKET, 0),
                numa: numa_of.get(&number).copied().unwrap_or(0),
                cache: group(&mut cache_of, number, CACHE, 0),
                core: group(&mut core_of, number, CORE, number),
                number,
            })
            .collect();
        cpus.sort_unstable();
        Self(cpus)
    }
}

/// Files of a CPU, the first that exists of each.
const SOCKET: &[&str] = &["topology/package_cpus_list", "topology/core_siblings_list"];
const CACHE: &[&str] =
    &["cache/index4/shared_cpu_list", "cache/index3/shared_cpu_list", "cache/index2/shared_cpu_list"];
const CORE: &[&str] = &["topology/core_cpus_list", "topology/thread_siblings_list"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_describe_the_machine() {
        let devices = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = devices.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        // Two sockets of two cores with two hardware threads each.
        write("node/online", "0-1\n");
        write("node/node0/cpulist", "0-1,4-5\n");
        write("node/node1/cpulist", "2-3,6-7\n");
        for cpu in 0..8 {
            let (core, socket) = (cpu % 4, cpu % 4 / 2);
            let of_socket = ["0-1,4-5\n", "2-3,6-7\n"][socket];
            write(&format!("cpu/cpu{cpu}/topology/package_cpus_list"), of_socket);
            write(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), of_socket);
            let threads = format!("{core},{}\n", core + 4);
            write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &threads);
        }
        let allowed = [1, 2, 4, 5, 6].into_iter().fold(Cores::default(), Cores::with);
        let topology = Topology::read(devices.path(), &allowed);
        let found: Vec<_> = topology.0.iter().map(|c| (c.socket, c.numa, c.cache, c.core, c.number)).collect();
        let expected = [(0, 0, 0, 0, 4), (0, 0, 0, 1, 1), (0, 0, 0, 1, 5), (2, 1, 2, 2, 2), (2, 1, 2, 2, 6)];
        assert_eq!(found, expected);
        // Nothing is known of a machine without these files.
        let topology = Topology::read(Path::new("/nonexistent"), &allowed);
        let found: Vec<_> = topology.0.iter().map(|c| (c.socket, c.core)).collect();
        assert_eq!(found, [(0, 1), (0, 2), (0, 4), (0, 5), (0, 6)]);
    }
}

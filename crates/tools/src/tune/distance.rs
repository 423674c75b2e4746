//! How far two CPUs are from each other.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use ferroshmem_platform::number_list::numbers;
use serde::{Deserialize, Serialize};

use super::measure::Pair;

/// The nearest thing that two CPUs share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Distance {
    /// A core: they are its hardware threads.
    Core,
    /// A last-level cache.
    Cache,
    /// A NUMA node.
    Numa,
    /// A socket.
    Socket,
    /// The machine.
    Machine,
}

impl Distance {
    /// All, the nearest first.
    pub(crate) const ALL: [Self; 5] = [Self::Core, Self::Cache, Self::Numa, Self::Socket, Self::Machine];

    /// Whether the cost model counts two such CPUs as being on different sockets.
    pub(crate) fn crosses(self) -> bool {
        self >= Self::Socket
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Core => "hardware threads of one core",
            Self::Cache => "cores that share the last-level cache",
            Self::Numa => "cores of one NUMA node",
            Self::Socket => "cores of two NUMA nodes of one socket",
            Self::Machine => "cores of two sockets",
        })
    }
}

/// What PEs at one distance exchange.
#[derive(Debug)]
pub(super) struct DistanceTimes {
    /// The distance.
    pub distance: Distance,
    /// How many pairs of CPUs have it.
    pub pairs: usize,
    /// Nanoseconds of a flag: least, median, greatest.
    pub flag: [f64; 3],
    /// Nanoseconds to read a line that was just written, of many in a row: the median.
    pub line: f64,
}

impl DistanceTimes {
    /// Those of `pairs`, the nearest first.
    pub(super) fn of(pairs: &[Pair]) -> Vec<Self> {
        let at = |distance| {
            let sorted = |time: fn(&Pair) -> f64| {
                let mut times: Vec<f64> = pairs.iter().filter(|p| p.distance == distance).map(time).collect();
                times.sort_by(f64::total_cmp);
                times
            };
            let (flags, lines) = (sorted(|pair| pair.flag), sorted(|pair| pair.line));
            let (least, greatest) = (*flags.first()?, *flags.last()?);
            let middle = flags.len() / 2;
            Some(Self { distance, pairs: flags.len(), flag: [least, flags[middle], greatest], line: lines[middle] })
        };
        Distance::ALL.into_iter().filter_map(at).collect()
    }
}

/// The machine's CPUs, as the kernel describes them.
#[derive(Debug)]
pub(crate) struct Topology(PathBuf);

impl Topology {
    /// Of this machine.
    pub(crate) fn here() -> Self {
        Self("/sys/devices/system".into())
    }

    /// How far CPUs `a` and `b` are from each other. What the kernel does not describe, all CPUs share.
    pub(crate) fn distance(&self, a: usize, b: usize) -> Distance {
        let shared = |list: Option<String>| list.is_none_or(|list| numbers(list.trim()).contains(&b));
        let cpu = self.0.join(format!("cpu/cpu{a}"));
        let threads = read(&cpu.join("topology/thread_siblings_list"));
        if a == b || threads.is_some_and(|list| shared(Some(list))) {
            return Distance::Core;
        }
        let packages = read(&cpu.join("topology/package_cpus_list"));
        if !shared(packages.or_else(|| read(&cpu.join("topology/core_siblings_list")))) {
            return Distance::Machine;
        }
        if !shared(self.numa_node(a)) {
            return Distance::Socket;
        }
        if shared(last_level_cache(&cpu)) { Distance::Cache } else { Distance::Numa }
    }

    /// The CPUs of the NUMA node of CPU `cpu`.
    fn numa_node(&self, cpu: usize) -> Option<String> {
        let online = read(&self.0.join("node/online"))?;
        let lists = numbers(online.trim()).into_iter();
        let mut lists = lists.filter_map(|node| read(&self.0.join(format!("node/node{node}/cpulist"))));
        lists.find(|list| numbers(list.trim()).contains(&cpu))
    }
}

/// The CPUs that share the last-level cache of the CPU that `folder` describes.
fn last_level_cache(folder: &Path) -> Option<String> {
    let indices = (0..).map(|index| folder.join(format!("cache/index{index}")));
    let indices = indices.take_while(|index| index.exists());
    let levels = indices.filter_map(|index| Some((read(&index.join("level"))?.trim().parse::<u32>().ok()?, index)));
    let (_, last) = levels.max_by_key(|(level, _)| *level)?;
    read(&last.join("shared_cpu_list"))
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_what_cpus_share() {
        let directory = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let topology = Topology(directory.path().to_owned());
        assert_eq!(topology.distance(0, 1), Distance::Cache, "nothing is described");
        // Two sockets of two NUMA nodes of two caches of two cores of two threads.
        let list = |cpu: usize, size: usize| format!("{}-{}\n", cpu / size * size, cpu / size * size + size - 1);
        write("node/online".into(), "0-3\n");
        for node in 0..4 {
            write(format!("node/node{node}/cpulist"), &list(8 * node, 8));
        }
        for cpu in 0..32 {
            write(format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &list(cpu, 2));
            write(format!("cpu/cpu{cpu}/topology/package_cpus_list"), &list(cpu, 16));
            for (index, level, size) in [(0, 1, 2), (1, 1, 2), (2, 3, 4)] {
                write(format!("cpu/cpu{cpu}/cache/index{index}/level"), &format!("{level}\n"));
                write(format!("cpu/cpu{cpu}/cache/index{index}/shared_cpu_list"), &list(cpu, size));
            }
        }
        for (other, distance) in [30, 29, 27, 23, 15].into_iter().zip(Distance::ALL) {
            let cpu = 31;
            assert_eq!(topology.distance(cpu, other), distance, "{other}");
            assert_eq!(topology.distance(other, cpu), distance, "{other}");
        }
        assert_eq!(topology.distance(31, 31), Distance::Core);
    }
}

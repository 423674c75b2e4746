//! The NUMA nodes of the machine and what kind of memory each has, as `/sys/devices` describes them.
//!
//! Processors with two kinds of memory show the second kind as nodes without CPUs: high-bandwidth memory
//! (Xeon Max in flat mode), and memory behind CXL. The firmware's table HMAT says how fast each is
//! (`node*/access0/initiators`); where there is none, the kernel's memory tiers say which is faster. A64FX
//! has nothing but high-bandwidth memory and no such table: it is known by its identification register.

use std::fs;
use std::path::Path;

use super::cores::Cores;
use super::number_list::{list, numbers};

/// A NUMA node that has memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NumaNode {
    /// The kernel's number.
    pub number: usize,
    /// Whether it has CPUs, too.
    pub has_cpus: bool,
    /// Bytes of memory.
    pub memory: u64,
    /// MB/s that its nearest CPUs read, if the firmware says.
    pub bandwidth: Option<u64>,
    /// Nanoseconds that they wait for a read.
    pub latency: Option<u64>,
    /// The kernel's memory tier: the lower, the faster.
    tier: Option<u64>,
    /// The nodes of its nearest CPUs.
    initiators: Vec<usize>,
}

/// The NUMA nodes with memory that this process may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumaNodes {
    nodes: Vec<NumaNode>,
    /// Nodes with CPUs: number, CPUs, and the distance of each node.
    cpu_nodes: Vec<CpuNode>,
    /// All memory has high bandwidth.
    all_fast: bool,
}

/// A node with CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CpuNode {
    number: usize,
    cpus: Vec<usize>,
    /// Of every node that is online, ascending.
    distances: Vec<(usize, u64)>,
}

/// How memory of a node compares with that of the nodes that have CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speed {
    /// As theirs.
    Ordinary,
    /// High-bandwidth memory.
    Fast,
    /// Slower, such as memory behind CXL.
    Slow,
    /// A node without CPUs of which nothing is known.
    Unknown,
}

/// Memory counts as faster or slower from a quarter on: firmware gives rounded figures.
const fn is_more(a: u64, b: u64) -> bool {
    a >= b + b / 4
}

impl NumaNodes {
    /// Those of this machine, of which this process may use the nodes `allowed` (None: all).
    pub fn here(allowed: Option<&[usize]>) -> Self {
        Self::read(Path::new("/sys/devices"), allowed)
    }

    /// Those that `devices` (`/sys/devices`) describes. A machine without NUMA nodes is one node.
    pub fn read(devices: &Path, allowed: Option<&[usize]>) -> Self {
        let text = |path: &str| fs::read_to_string(devices.join(path)).ok();
        let node_list = |path: &str| text(path).map(|text| numbers(text.trim()));
        let online = node_list("system/node/online").unwrap_or_default();
        let with_memory = node_list("system/node/has_memory").unwrap_or_else(|| online.clone());
        let tiers = tiers(devices);
        let mut cpu_nodes = Vec::new();
        for &number in &online {
            let cpus = node_list(&format!("system/node/node{number}/cpulist")).unwrap_or_default();
            if cpus.is_empty() {
                continue;
            }
            let distances = text(&format!("system/node/node{number}/distance")).unwrap_or_default();
            let distances = distances.split_whitespace().map_while(|d| d.parse().ok());
            cpu_nodes.push(CpuNode { number, cpus, distances: online.iter().copied().zip(distances).collect() });
        }
        let is_allowed = |node: &usize| allowed.is_none_or(|allowed| allowed.contains(node));
        let node = |number: usize| {
            let of_node = |file: &str| format!("system/node/node{number}/{file}");
            let value = |file: &str| {
                let value = text(&of_node(&format!("access0/initiators/{file}")))?;
                value.trim().parse().ok().filter(|value| *value > 0)
            };
            let is_initiator = |of: &&CpuNode| {
                let link = of_node(&format!("access0/initiators/node{}", of.number));
                devices.join(link).exists()
            };
            let tier = tiers.iter().find(|(_, nodes)| nodes.contains(&number));
            NumaNode {
                number,
                has_cpus: cpu_nodes.iter().any(|place| place.number == number),
                memory: text(&of_node("meminfo")).map_or(0, |text| total(&text)),
                bandwidth: value("read_bandwidth"),
                latency: value("read_latency"),
                tier: tier.map(|(tier, _)| *tier),
                initiators: cpu_nodes.iter().filter(is_initiator).map(|p| p.number).collect(),
            }
        };
        let mut nodes: Vec<_> = with_memory.into_iter().filter(is_allowed).map(node).collect();
        if nodes.is_empty() {
            nodes.push(NumaNode { has_cpus: true, ..NumaNode::default() });
        }
        let midr = text("system/cpu/cpu0/regs/identification/midr_el1").unwrap_or_default();
        let midr = u64::from_str_radix(midr.trim().trim_start_matches("0x"), 16);
        Self { nodes, cpu_nodes, all_fast: midr.is_ok_and(is_a64fx) }
    }

    /// The nodes, ascending; there is at least one.
    pub fn iter(&self) -> impl Iterator<Item = &NumaNode> {
        self.nodes.iter()
    }

    /// Whether all memory is on one node, so that there is nothing to choose.
    pub fn is_one(&self) -> bool {
        self.nodes.len() == 1
    }

    /// The numbers of the nodes that `select` selects.
    pub fn numbers(&self, select: &dyn Fn(&NumaNode) -> bool) -> Vec<usize> {
        let selected = self.nodes.iter().filter(|node| select(node));
        selected.map(|node| node.number).collect()
    }

    /// The nodes whose CPUs are among `cores`.
    pub fn of_cores(&self, cores: &Cores) -> Vec<usize> {
        let has_core = |place: &&CpuNode| place.cpus.iter().any(|cpu| cores.contains(*cpu));
        self.cpu_nodes.iter().filter(has_core).map(|p| p.number).collect()
    }

    /// The node with memory nearest to `cores`, if they are all of one node: mostly that one itself.
    pub fn home(&self, cores: &Cores) -> Option<usize> {
        if self.is_one() {
            return Some(self.nodes[0].number);
        }
        match self.of_cores(cores)[..] {
            [place] => self.nearest(place, &|_| true).first().copied(),
            _ => None,
        }
    }

    /// Of the nodes that `select` selects, those nearest to the CPUs of node `place`.
    pub fn nearest(&self, place: usize, select: &dyn Fn(&NumaNode) -> bool) -> Vec<usize> {
        let found = self.cpu_nodes.iter().find(|p| p.number == place);
        let distances = found.map_or(&[][..], |found| &found.distances);
        let distance = |node: usize| {
            let found = distances.iter().find(|(number, _)| *number == node);
            match found {
                // The own node, also where the firmware says nothing.
                _ if node == place => 0,
                Some((_, distance)) => *distance,
                None => u64::MAX,
            }
        };
        let mut nearest = Vec::new();
        let mut least = u64::MAX;
        for node in self.numbers(select) {
            let distance = distance(node);
            if distance < least {
                nearest.clear();
                least = distance;
            }
            if distance == least {
                nearest.push(node);
            }
        }
        nearest
    }

    /// The node from which the CPUs of node `place` read with the least latency.
    pub fn least_latency(&self, place: usize) -> Option<usize> {
        let nearest = self.nearest(place, &|_| true).first().copied();
        let initiated = self.nodes.iter().filter(|node| node.initiators.contains(&place));
        let known = initiated.filter_map(|node| {
            let is_other = Some(node.number) != nearest;
            Some((node.latency?, is_other, node.number))
        });
        known.min().map(|(_, _, number)| number).or(nearest)
    }

    /// How the memory of a node compares with that of the nodes with CPUs.
    pub fn speed(&self, node: &NumaNode) -> Speed {
        if self.all_fast {
            return Speed::Fast;
        }
        let with_cpus = || self.nodes.iter().filter(|node| node.has_cpus);
        let bandwidth = with_cpus().filter_map(|node| node.bandwidth).min();
        let latency = with_cpus().filter_map(|node| node.latency).max();
        let tiers = with_cpus().filter_map(|node| node.tier);
        let by_bandwidth = node.bandwidth.zip(bandwidth);
        if let Some((mine, theirs)) = by_bandwidth
            && is_more(mine, theirs)
        {
            return Speed::Fast;
        }
        if node.has_cpus {
            return Speed::Ordinary;
        }
        let has_less = by_bandwidth.is_some_and(|(mine, theirs)| is_more(theirs, mine));
        let by_latency = node.latency.zip(latency);
        if has_less || by_latency.is_some_and(|(mine, theirs)| is_more(mine, theirs)) {
            return Speed::Slow;
        }
        if by_bandwidth.is_some() {
            return Speed::Ordinary;
        }
        match node.tier.zip(tiers.min()) {
            Some((mine, theirs)) if mine < theirs => Speed::Fast,
            Some((mine, theirs)) if mine > theirs => Speed::Slow,
            _ => Speed::Unknown,
        }
    }

    /// What there is, for messages: `NUMA nodes 0-1 of ordinary memory, NUMA node 2 of high-bandwidth memory`.
    pub fn describe(&self) -> String {
        let kinds = [
            (Speed::Ordinary, "ordinary memory"),
            (Speed::Fast, "high-bandwidth memory"),
            (Speed::Slow, "slower memory"),
            (Speed::Unknown, "memory without CPUs, of unknown speed"),
        ];
        let mut text = String::new();
        for (speed, words) in kinds {
            let nodes = self.numbers(&|node| self.speed(node) == speed);
            if nodes.is_empty() {
                continue;
            }
            let separator = if text.is_empty() { "" } else { ", " };
            let plural = if nodes.len() == 1 { "" } else { "s" };
            text += &format!("{separator}NUMA node{plural} {} of {words}", list(&nodes));
        }
        text
    }
}

/// Whether a processor's identification register is that of Fujitsu's A64FX.
fn is_a64fx(midr: u64) -> bool {
    // Implementer and part number.
    (midr >> 24 & 0xff, midr >> 4 & 0xfff) == (0x46, 0x001)
}

/// The memory tiers: number, and nodes.
fn tiers(devices: &Path) -> Vec<(u64, Vec<usize>)> {
    let mut tiers = Vec::new();
    let folders = fs::read_dir(devices.join("virtual/memory_tiering"));
    for folder in folders.into_iter().flatten().flatten() {
        let name = folder.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("memory_tier"));
        let nodes = fs::read_to_string(folder.path().join("nodelist"));
        if let (Some(Ok(number)), Ok(nodes)) = (number.map(str::parse), nodes) {
            tiers.push((number, numbers(nodes.trim())));
        }
    }
    tiers
}

/// The bytes of memory that a node's file `meminfo` names: `Node 0 MemTotal: 32768 kB` comes first.
fn total(meminfo: &str) -> u64 {
    let word = meminfo.split_ascii_whitespace().nth(3);
    let kibibytes = word.and_then(|word| word.parse::<u64>().ok());
    kibibytes.unwrap_or(0) << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A description of a machine. Each node: CPUs, then bandwidth and latency, or 0 if they are not known.
    fn machine(nodes: &[(&str, u64, u64)]) -> tempfile::TempDir {
        let devices = tempfile::tempdir().unwrap();
        let write = |path: String, text: String| {
            let path = devices.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let last = nodes.len() - 1;
        write("system/node/online".into(), format!("0-{last}\n"));
        write("system/node/has_memory".into(), format!("0-{last}\n"));
        for (number, (cpus, bandwidth, latency)) in nodes.iter().enumerate() {
            let file = |name: &str| format!("system/node/node{number}/{name}");
            let distance = |other: usize| if other == number { "10" } else { "21" };
            let distances: Vec<_> = (0..nodes.len()).map(distance).collect();
            write(file("cpulist"), format!("{cpus}\n"));
            write(file("distance"), distances.join(" ") + "\n");
            let meminfo = format!("Node {number} MemTotal:    1024 kB\nNode {number} MemFree: 7 kB\n");
            write(file("meminfo"), meminfo);
            if *bandwidth > 0 {
                write(file("access0/initiators/read_bandwidth"), bandwidth.to_string());
                write(file("access0/initiators/read_latency"), latency.to_string());
                // Each memory of this machine is near the CPUs of every other node.
                write(file(&format!("access0/initiators/node{}", number % 2)), String::new());
            }
        }
        devices
    }

    fn cores(numbers: &[usize]) -> Cores {
        numbers.iter().fold(Cores::default(), |cores, core| cores.with(*core))
    }

    #[test]
    fn sockets_have_homes() {
        let devices = machine(&[("0-3", 0, 0), ("4-7", 0, 0)]);
        let nodes = NumaNodes::read(devices.path(), None);
        assert_eq!(nodes.home(&cores(&[5, 6])), Some(1));
        assert_eq!(nodes.home(&cores(&[3, 4])), None);
        assert_eq!(nodes.of_cores(&cores(&[3, 4])), [0, 1]);
        assert!(nodes.iter().all(|n| n.memory == 1 << 20 && nodes.speed(n) == Speed::Ordinary));
        assert_eq!(nodes.describe(), "NUMA nodes 0-1 of ordinary memory");
        let one = NumaNodes::read(devices.path(), Some(&[1]));
        assert!(one.is_one() && one.home(&cores(&[0])) == Some(1));
    }

    #[test]
    fn firmware_tells_kinds_apart() {
        let devices = machine(&[
            ("0-3", 200_000, 100),
            ("4-7", 200_000, 100),
            ("", 400_000, 130),
            ("", 400_000, 130),
            ("", 50_000, 250),
        ]);
        let nodes = NumaNodes::read(devices.path(), None);
        let speeds: Vec<_> = nodes.iter().map(|node| nodes.speed(node)).collect();
        use Speed::{Fast, Ordinary, Slow};
        assert_eq!(speeds, [Ordinary, Ordinary, Fast, Fast, Slow]);
        assert_eq!(
            nodes.describe(),
            "NUMA nodes 0-1 of ordinary memory, NUMA nodes 2-3 of high-bandwidth memory, NUMA node 4 of slower memory"
        );
        assert_eq!((nodes.least_latency(0), nodes.least_latency(1)), (Some(0), Some(1)));
    }

    #[test]
    fn tiers_tell_kinds_apart_without_firmware() {
        let devices = machine(&[("0-1", 0, 0), ("", 0, 0), ("", 0, 0)]);
        let tier = |number: usize, list: &str| {
            let folder = format!("virtual/memory_tiering/memory_tier{number}");
            let folder = devices.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("nodelist"), list).unwrap();
        };
        let speeds = || {
            let nodes = NumaNodes::read(devices.path(), None);
            nodes.iter().map(|n| nodes.speed(n)).collect::<Vec<_>>()
        };
        assert_eq!(speeds(), [Speed::Ordinary, Speed::Unknown, Speed::Unknown]);
        tier(4, "0\n");
        tier(22, "2\n");
        tier(2, "1\n");
        assert_eq!(speeds(), [Speed::Ordinary, Speed::Fast, Speed::Slow]);
    }

    #[test]
    fn a64fx_is_known_by_its_register() {
        let devices = machine(&[("0-11", 0, 0), ("12-23", 0, 0)]);
        let register = devices.path().join("system/cpu/cpu0/regs/identification");
        fs::create_dir_all(&register).unwrap();
        fs::write(register.join("midr_el1"), "0x00000000461f0010\n").unwrap();
        let nodes = NumaNodes::read(devices.path(), None);
        assert!(nodes.iter().all(|node| nodes.speed(node) == Speed::Fast));
        assert!(!is_a64fx(0x413f_d0c1));
    }

    #[test]
    fn a_machine_that_says_nothing_is_one_node() {
        let nodes = NumaNodes::read(Path::new("/nonexistent"), None);
        assert!(nodes.is_one());
        assert_eq!(nodes.home(&Cores::default()), Some(0));
    }
}

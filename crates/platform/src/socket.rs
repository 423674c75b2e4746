//! On which socket a process runs.

use std::fs;
use std::path::Path;

use super::cores::Cores;
use super::number_list::numbers;

/// Where the kernel describes the machine.
const DEVICES: &str = "/sys/devices/system";

/// Whether this machine has several NUMA nodes, so that processes have localities.
pub fn has_several_nodes() -> bool {
    online(Path::new(DEVICES)).len() > 1
}

/// The machine's NUMA nodes.
fn online(devices: &Path) -> Vec<usize> {
    let text = fs::read_to_string(devices.join("node/online"));
    text.map_or_else(|_| Vec::new(), |text| numbers(text.trim()))
}

/// The first core of those that share the last-level cache with this process, if all its cores share one.
pub fn last_level_cache() -> Option<u32> {
    cache_of(Path::new(DEVICES), &Cores::of_this_process())
}

/// That of a process with these cores, as `devices` (`/sys/devices/system`) describes them.
fn cache_of(devices: &Path, cores: &Cores) -> Option<u32> {
    let first = cores.iter().next()?;
    let file = |index: usize| devices.join(format!("cpu/cpu{first}/cache/index{index}/shared_cpu_list"));
    // The kernel numbers a core's caches by their levels.
    let texts = (0..).map_while(|index| fs::read_to_string(file(index)).ok());
    let sharing = numbers(texts.last()?.trim());
    let is_one = cores.iter().all(|core| sharing.contains(&core));
    u32::try_from(*sharing.first()?).ok().filter(|_| is_one)
}

/// The place of a process whose cores are all of one socket, as a word for shared memory. A place that is not
/// known is 0: of a process that is not bound, or whose machine has one socket alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Locality(u32);

impl Locality {
    /// A place that is not known.
    pub const UNKNOWN: Self = Self(0);

    /// NUMA node `numa` of the socket whose first core is `socket`.
    pub fn new(socket: usize, numa: usize) -> Self {
        let part = |number: usize| u16::try_from(number + 1).map(u32::from);
        match (part(socket), part(numa)) {
            (Ok(socket), Ok(numa)) => Self(socket << 16 | numa),
            _ => Self::UNKNOWN,
        }
    }

    /// From [`to_word`](Self::to_word).
    pub fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// As a word.
    pub fn to_word(self) -> u32 {
        self.0
    }

    /// The socket, if it is known.
    pub fn socket(self) -> Option<u32> {
        (self.0 >> 16).checked_sub(1)
    }

    /// The NUMA node, if it is known.
    pub fn numa(self) -> Option<u32> {
        (self.0 & 0xffff).checked_sub(1)
    }

    /// That of this process.
    pub fn of_this_process() -> Self {
        Self::read(Path::new(DEVICES), &Cores::of_this_process())
    }

    /// That of a process with these cores, as `devices` (`/sys/devices/system`) describes them.
    fn read(devices: &Path, cores: &Cores) -> Self {
        let list = |path: &str| {
            let text = fs::read_to_string(devices.join(path)).ok()?;
            Some(numbers(text.trim())).filter(|found| !found.is_empty())
        };
        let nodes = online(devices);
        if nodes.len() < 2 {
            return Self::UNKNOWN;
        }
        let has_all = |cpus: &[usize]| cores.iter().all(|core| cpus.contains(&core));
        let of_node = |node: &usize| list(&format!("node/node{node}/cpulist")).unwrap_or_default();
        let numa = nodes.into_iter().find(|node| has_all(&of_node(node)));
        let Some(first) = cores.iter().next() else {
            return Self::UNKNOWN;
        };
        let file = |name: &str| list(&format!("cpu/cpu{first}/topology/{name}"));
        let socket = file("package_cpus_list").or_else(|| file("core_siblings_list"));
        match (numa, socket) {
            (Some(numa), Some(socket)) if has_all(&socket) => Self::new(socket[0], numa),
            // Sockets are not described: NUMA nodes are what there is.
            (Some(numa), None) => Self::new(0, numa),
            _ => Self::UNKNOWN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_say_where_a_process_is() {
        let devices = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = devices.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let of = |cores: &[usize]| {
            let all = cores.iter();
            let mask = all.fold(Cores::default(), |mask, core| mask.with(*core));
            Locality::read(devices.path(), &mask)
        };
        assert_eq!(of(&[0]), Locality::UNKNOWN);
        // Two sockets of two NUMA nodes each.
        write("node/online", "0-3\n");
        for node in 0..4 {
            let (first, last) = (2 * node, 2 * node + 1);
            write(&format!("node/node{node}/cpulist"), &format!("{first}-{last}\n"));
            for cpu in [first, last] {
                let socket = if cpu < 4 { "0-3\n" } else { "4-7\n" };
                write(&format!("cpu/cpu{cpu}/topology/package_cpus_list"), socket);
            }
        }
        assert_eq!(of(&[2, 3]), Locality::new(0, 1));
        assert_eq!((of(&[7]).socket(), of(&[7]).numa()), (Some(4), Some(3)));
        for several in [&[1, 2][..], &[3, 4], &[0, 1, 2, 3, 4, 5, 6, 7], &[]] {
            assert_eq!(of(several), Locality::UNKNOWN, "{several:?}");
        }
        assert_eq!(Locality::UNKNOWN.socket(), None);
        assert_eq!(Locality::from_word(of(&[7]).to_word()), of(&[7]));
        assert_eq!(Locality::new(1 << 16, 0), Locality::UNKNOWN);
        let cache = |cores: &[usize]| {
            let mask = cores.iter().fold(Cores::default(), |mask, core| mask.with(*core));
            cache_of(devices.path(), &mask)
        };
        assert_eq!(cache(&[2]), None);
        for cpu in 0..8 {
            write(&format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), &format!("{cpu}\n"));
            write(&format!("cpu/cpu{cpu}/cache/index1/shared_cpu_list"), if cpu < 3 { "0-2\n" } else { "3-7\n" });
        }
        assert_eq!((cache(&[1, 2]), cache(&[7]), cache(&[2, 3]), cache(&[])), (Some(0), Some(3), None, None));
        // A single node.
        write("node/online", "0\n");
        assert_eq!(of(&[0]), Locality::UNKNOWN);
    }
}

//! How far two CPUs are from each other.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::measure::Pair;
use crate::topology::Cpu;

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

    /// How far two CPUs are from each other.
    pub(super) fn between(a: Cpu, b: Cpu) -> Self {
        match () {
            () if a.core == b.core => Self::Core,
            () if a.socket != b.socket => Self::Machine,
            () if a.numa != b.numa => Self::Socket,
            () if a.cache != b.cache => Self::Numa,
            () => Self::Cache,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_as_far_apart_as_what_they_share() {
        // Sockets of two NUMA nodes of two caches of two cores of two threads.
        let cpu = |number: usize| {
            let first = |size: usize| number / size * size;
            Cpu { socket: first(16), numa: number / 8, cache: first(4), core: first(2), number }
        };
        let distances = [&[Distance::Core][..], &Distance::ALL].concat();
        for (other, distance) in [31, 30, 29, 27, 23, 15].into_iter().zip(distances) {
            assert_eq!(Distance::between(cpu(31), cpu(other)), distance, "{other}");
            assert_eq!(Distance::between(cpu(other), cpu(31)), distance, "{other}");
        }
    }
}

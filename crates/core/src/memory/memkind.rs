//! Kinds of memory, in the words of OpenMP's memory spaces and of the library memkind, and how a part of the heap
//! is given one.

use std::io;
use std::ops::Range;

use ferroshmem_platform::Cores;
use ferroshmem_platform::mapping::HUGE_PAGE;
use ferroshmem_platform::memory_policy::{self, MemoryPolicy as Policy};
use ferroshmem_platform::numa::{NumaNode, NumaNodes, Speed};
use ferroshmem_platform::number_list::list;
use thiserror::Error;

use super::address_space::AddressSpace;

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memkind {
    /// As the symmetric heap.
    Default,
    /// On the NUMA node that the PE is bound to.
    Local,
    /// On this NUMA node.
    Numa(usize),
    /// On all NUMA nodes with CPUs in turn, page by page.
    Interleaved,
    /// High-bandwidth memory near the PE.
    HighBandwidth,
    /// The memory that the PE reads with the least latency.
    LowLatency,
    /// Memory that is slower than that of the nodes with CPUs, such as memory behind CXL.
    LargeCapacity,
}

/// What memory is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryRequest {
    /// Its kind.
    pub kind: Memkind,
    /// On huge pages, which take their memory at once.
    pub huge_pages: bool,
    /// None is better than memory of another kind.
    pub is_strict: bool,
}

/// Why memory of a kind is not to be had on this PE.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MemkindError {
    /// The node has none of it.
    #[error(
        "there is no {kind} here, where the PE has {found}: ask for another kind, or let it fall back to the default \
            one"
    )]
    None {
        /// What was asked for.
        kind: &'static str,
        /// What there is.
        found: String,
    },
    /// There is no such NUMA node, or it has no memory for this process.
    #[error("NUMA node {node} has no memory for this PE, which has {found}: give one of these")]
    NoNode {
        /// The node asked for.
        node: usize,
        /// What there is.
        found: String,
    },
    /// The PE has no node of its own.
    #[error("this PE may run on NUMA nodes {0}: bind it to one, for instance by oshrun --bind-to numa")]
    Unbound(String),
    /// The kernel refuses a memory policy.
    #[error("memory cannot be placed on a NUMA node: {0}; in a container, permit mbind (capability SYS_NICE)")]
    Policy(#[source] io::Error),
    /// The kernel has no huge pages to give.
    #[error("not all of the memory is on huge pages: {0}; they need Linux 6.1, and free memory in pieces of 2 MiB")]
    HugePages(#[source] io::Error),
}

/// The NUMA nodes of this process, and whether it may place memory on them.
fn nodes() -> (NumaNodes, io::Result<()>) {
    let allowed = memory_policy::allowed_nodes();
    let nodes = NumaNodes::here(allowed.as_ref().ok().map(Vec::as_slice));
    (nodes, allowed.map(drop))
}

/// The policy of memory that no space and no hint asks anything of: on the node that the PE is bound to, also if
/// another PE touches it first.
pub(super) fn home() -> Policy {
    let several = memory_policy::allowed_nodes().is_ok_and(|nodes| nodes.len() > 1);
    let home = several.then(|| nodes().0.home(&Cores::of_this_process()));
    home.flatten().map_or(Policy::FirstTouch, Policy::Preferred)
}

impl Memkind {
    /// The policy by which a PE on `cores` gets this kind of memory of `nodes`; none if all memory is of this kind.
    fn policy(self, is_strict: bool, nodes: &NumaNodes, cores: &Cores) -> Result<Option<Policy>, MemkindError> {
        let unbound = || MemkindError::Unbound(list(&nodes.of_cores(cores)));
        let place = || match nodes.of_cores(cores)[..] {
            [place] => Some(place),
            _ => None,
        };
        let of_speed = |speed, kind| {
            let is_such = |node: &NumaNode| nodes.speed(node) == speed;
            let all = nodes.numbers(&is_such);
            if all.is_empty() {
                let found = nodes.describe();
                return Err(MemkindError::None { kind, found });
            }
            Ok(place().map_or(all, |place| nodes.nearest(place, &is_such)))
        };
        let chosen = match self {
            Self::Default => return Ok(None),
            Self::Local => vec![nodes.home(cores).ok_or_else(unbound)?],
            Self::Numa(node) => {
                let chosen = nodes.numbers(&|n| n.number == node);
                if chosen.is_empty() {
                    let found = nodes.describe();
                    return Err(MemkindError::NoNode { node, found });
                }
                chosen
            }
            Self::Interleaved => nodes.numbers(&|node| node.has_cpus),
            Self::HighBandwidth => of_speed(Speed::Fast, "high-bandwidth memory")?,
            Self::LargeCapacity => of_speed(Speed::Slow, "memory of large capacity, such as CXL's")?,
            Self::LowLatency => {
                let least = match nodes.is_one() {
                    true => nodes.home(cores),
                    false => nodes.least_latency(place().ok_or_else(unbound)?),
                };
                vec![least.ok_or_else(unbound)?]
            }
        };
        Ok(match (self, chosen.first()) {
            _ if nodes.is_one() => None,
            (Self::Interleaved, Some(_)) => Some(Policy::Interleaved(chosen)),
            (_, Some(first)) if !is_strict => Some(Policy::Preferred(*first)),
            (_, Some(_)) => Some(Policy::Bound(chosen)),
            (_, None) => None,
        })
    }
}

impl MemoryRequest {
    /// Gives bytes of this PE's heap, which have no memory yet, memory as asked for.
    ///
    /// # Errors
    /// There is none of it; a part of the bytes may have it.
    pub fn apply(&self, space: &AddressSpace, range: &Range<u64>) -> Result<(), MemkindError> {
        let policy = match self.kind {
            Memkind::Default => None,
            kind => {
                let (nodes, permitted) = nodes();
                let policy = kind.policy(self.is_strict, &nodes, &Cores::of_this_process())?;
                if policy.is_some() {
                    permitted.map_err(MemkindError::Policy)?;
                }
                policy
            }
        };
        let place = |policy: &Policy, range: &Range<u64>| {
            let placed = space.place_heap(range, policy);
            placed.map_err(MemkindError::Policy)
        };
        let collapse = |range: &Range<u64>| {
            let collapsed = space.collapse_heap(range.start, range.end - range.start);
            collapsed.map_err(MemkindError::HugePages)
        };
        match &policy {
            // The kernel looks at the number of a page for its node, and takes a huge page from the node of its
            // first page: these would all be the same.
            Some(Policy::Interleaved(nodes)) if self.huge_pages => {
                let pages = range.clone().step_by(HUGE_PAGE).zip(nodes.iter().cycle());
                for (start, node) in pages {
                    let page = start..range.end.min(start + HUGE_PAGE as u64);
                    place(&Policy::Preferred(*node), &page)?;
                    collapse(&page)?;
                }
            }
            _ => {}
        }
        if let Some(policy) = &policy {
            place(policy, range)?;
        }
        if self.huge_pages {
            collapse(range)?;
        }
        Ok(())
    }
}

/// What `oshmem_info` says of the kinds of memory.
pub(crate) fn describe() -> String {
    let (nodes, permitted) = nodes();
    let speed = |node| match nodes.speed(node) {
        Speed::Ordinary => "ordinary memory",
        Speed::Fast => "high-bandwidth memory (SHMEMX_MEM_HIGH_BW)",
        Speed::Slow => "slower memory (SHMEMX_MEM_LARGE_CAP)",
        Speed::Unknown => "memory without CPUs, of unknown speed",
    };
    let mut text = String::from("  NUMA nodes:\n");
    for node in nodes.iter() {
        let figure = |value: Option<u64>, unit| value.map_or(String::new(), |v| format!(", {v} {unit}"));
        let (number, memory) = (node.number, node.memory >> 20);
        let bandwidth = figure(node.bandwidth, "MB/s");
        let latency = figure(node.latency, "ns");
        text += &format!("    {number}: {memory} MiB, {}{bandwidth}{latency}\n", speed(node));
    }
    text += "  memory on a chosen NUMA node (shmemx_space_create): ";
    text += &match (nodes.is_one(), permitted) {
        (true, _) => "there is one".to_owned(),
        (false, Ok(())) => "yes".to_owned(),
        (false, Err(e)) => MemkindError::Policy(e).to_string(),
    };
    text += "\n";
    text
}

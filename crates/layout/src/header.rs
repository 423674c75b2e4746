//! What all PEs of a node learn from the launcher.

use std::sync::atomic::{AtomicU32, AtomicU64};

use ferroshmem_platform::NodeCores;
use ferroshmem_tuning::{Forced, Selection, Tuning};

use crate::offsets::REFUSED;

/// What all PEs learn from the launcher. Written before the first PE starts, then constant
/// but for the atomics.
#[repr(C)]
pub struct Header {
    /// [`MAGIC`](crate::MAGIC).
    pub magic: u64,
    /// [`VERSION`](crate::VERSION).
    pub version: u32,
    /// Number of PEs of the node.
    pub n_pes: u32,
    /// Bytes of symmetric heap of each PE, a multiple of the page size.
    pub heap_size: u64,
    /// Bytes of the file for each PE's heap, and as many for its globals.
    pub slot_size: u64,
    /// Cores that the node's PEs may use.
    pub cores: u32,
    /// 1 if a control group limits the time for which they may use them.
    pub quota: u32,
    /// 1 if the machine has several NUMA nodes: each PE says then where it runs.
    pub has_localities: u32,
    /// From how many bytes on copies go past the caches, unless a PE is given another number.
    pub non_temporal_threshold: u64,
    /// What the processor has (`Features` in the crate platform).
    pub features: u32,
    /// Process id of the launcher, 0 if there is none on this node or it watches by itself.
    pub launcher_pid: u32,
    /// Most PEs of any node of the job: where windows are placed depends on it.
    pub widest: u32,
    /// Number of the job among those that one `oshrun` has started: 0 is the one of its command line.
    pub job_number: AtomicU32,
    /// The least number that PEs of other jobs may be given next.
    pub next_pe: AtomicU32,
    /// Bit k is set by a PE that could not place address layout candidate k.
    pub layout_failed: AtomicU32,
    /// Arrivals at the start-up rendezvous.
    pub start_arrived: AtomicU32,
    /// Rendezvous completed; a futex word.
    pub start_epoch: AtomicU32,
    /// How many PEs have finalised the library, each time.
    pub finalized: AtomicU32,
    /// 1 once the last of them has given the memory of all heaps back to the system.
    pub heaps_given_back: AtomicU32,
    /// PE + 1 of the PE that first reported an error, or `u32::MAX` for the launcher; the others keep quiet.
    pub reporter: AtomicU32,
    /// 1 once a PE found that it runs another executable than the first PE.
    pub images_differ: AtomicU32,
    /// Digest of the executable whose globals the first PE laid out.
    pub image: AtomicU64,
    /// In the memory of a connection: 1 once a member asks for reproducible sums.
    pub reproducible: AtomicU32,
    /// In the memory of a connection: members of its first group.
    pub first_group: AtomicU32,
    /// In the memory of a connection: 1 once both groups are to be connected. Before, the end of one is of no matter
    /// to the other.
    pub agreed: AtomicU32,
    /// In the memory of a connection: 1 if the end of one group is not the other's.
    pub independent: AtomicU32,
    /// In the memory of a connection: a [`ConnectionState`].
    pub connection: AtomicU32,
    /// In the memory of a connection: members of each group that use it no more. Futex words.
    pub left: [AtomicU32; 2],
    /// PE + 1 of the PE that is looked at while it fails: where it is, and by gdb.
    pub failing: AtomicU32,
    /// What was measured on this machine, for choosing algorithms.
    pub tuning: Tuning,
}

impl Header {
    /// Which algorithms the node's PEs use, with what the user forces: both are the same on all PEs.
    pub fn selection(&self, forced: Forced) -> Selection {
        let (pes, cores) = (self.n_pes as usize, self.cores as usize);
        Selection::new(forced, self.tuning, pes, cores)
    }

    /// The cores that the node's PEs may use.
    pub fn node_cores(&self) -> NodeCores {
        NodeCores { count: self.cores as usize, quota: self.quota != 0 }
    }
}

/// How far a connection is (`core/src/wait/rendezvous.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ConnectionState {
    /// Members are missing.
    Connecting = 0,
    /// All members have come.
    Connected = 1,
    /// A group has ended before all members had come: no member is connected.
    Abandoned = 2,
    /// A group has ended since.
    Failed = 3,
}

impl ConnectionState {
    /// Whether a group has ended.
    pub fn is_over(word: u32) -> bool {
        word >= Self::Abandoned as u32
    }
}

const _: () = {
    assert!(size_of::<Header>() <= REFUSED);
};

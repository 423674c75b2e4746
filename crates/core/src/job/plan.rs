//! How large the heaps and their windows are: arithmetic shared by launcher and library.

use ferroshmem_config::HeapSettings;
use ferroshmem_platform::Machine;

use ferroshmem_layout::MAX_PES;

/// Smallest distance between the windows of two PEs: the fast path keeps the number of
/// PEs in the low half of a word whose high half is a multiple of the stride.
pub const MIN_STRIDE: u64 = 1 << 32;
/// Address space that all windows of a job may take, once for the heaps and once for
/// the globals.
pub const WINDOW_SPACE: u64 = 16 << 40;

/// Sizes of a job's symmetric memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Bytes of symmetric heap of each PE.
    pub heap_size: u64,
    /// Bytes from one PE's window to the next, a power of two; as much is room for globals.
    pub stride: u64,
}

/// Why no plan exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The heap asked for is larger than the node's memory.
    #[error("SHMEM_SYMMETRIC_SIZE: {asked} bytes per PE is more than this node's memory of {memory} bytes: give less")]
    LargerThanMemory {
        /// Bytes asked for.
        asked: u64,
        /// Bytes of memory.
        memory: u64,
    },
    /// The windows of so many PEs with so large heaps do not fit the address space.
    #[error(
        "SHMEM_SYMMETRIC_SIZE: {asked} bytes per PE does not fit the address space with {n_pes} PEs: give at most \
            {largest}"
    )]
    NoRoom {
        /// Bytes asked for per PE.
        asked: u64,
        /// Largest heap that fits.
        largest: u64,
        /// Number of PEs.
        n_pes: usize,
    },
    /// The heaps of all PEs do not fit what `ulimit -v` leaves to a process.
    #[error(
        "heaps of {asked} bytes for {n_pes} PEs do not fit half of the address space of {limit} bytes that the limit \
            (ulimit -v) leaves: raise it, or set SHMEM_SYMMETRIC_SIZE"
    )]
    AddressSpaceLimit {
        /// Bytes asked for per PE.
        asked: u64,
        /// Bytes of address space that a process may use.
        limit: u64,
        /// Number of PEs.
        n_pes: usize,
    },
    /// More PEs than one node can hold, or none.
    #[error("cannot run {0} PEs: give 1 to {MAX_PES}")]
    BadCount(usize),
}

impl Plan {
    /// Sizes for `n_pes` PEs on `machine`, with heaps of `heap.size` bytes.
    ///
    /// No size means the node's memory, rounded up to the whole window, so that the heaps lie
    /// side by side and one mapping holds them all; nothing is reserved until it is touched.
    /// Where the address space is limited, the heaps of all PEs take half of it.
    pub fn new(n_pes: usize, machine: &Machine, heap: HeapSettings) -> Result<Self, PlanError> {
        if n_pes == 0 || n_pes > MAX_PES {
            return Err(PlanError::BadCount(n_pes));
        }
        let memory = machine.memory;
        let largest = prev_power_of_two(WINDOW_SPACE / n_pes as u64);
        let stride = memory.next_power_of_two().clamp(MIN_STRIDE, largest);
        let page = machine.page_size as u64;
        let share = |limit: u64| limit / 2 / n_pes as u64 / page * page;
        let Some(asked) = heap.size else {
            let heap_size = machine.address_space.map_or(stride, |limit| share(limit).min(stride));
            return Ok(Self { heap_size, stride });
        };
        if asked > memory {
            return Err(PlanError::LargerThanMemory { asked, memory });
        }
        if asked > largest {
            return Err(PlanError::NoRoom { asked, largest, n_pes });
        }
        if let Some(limit) = machine.address_space.filter(|limit| asked > share(*limit)) {
            return Err(PlanError::AddressSpaceLimit { asked, limit, n_pes });
        }
        let heap_size = asked.next_multiple_of(page);
        Ok(Self { heap_size, stride })
    }
}

fn prev_power_of_two(n: u64) -> u64 {
    1 << n.ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u64) -> HeapSettings {
        HeapSettings { size: Some(bytes) }
    }

    fn machine(memory: u64, address_space: Option<u64>) -> Machine {
        Machine { memory, address_space, ..Machine::here() }
    }

    #[test]
    fn default_heap_is_the_memory() {
        let node = machine(24 << 30, None);
        let p = Plan::new(64, &node, HeapSettings::default()).unwrap();
        assert_eq!((p.heap_size, p.stride), (32 << 30, 32 << 30));
        let p = Plan::new(64, &node, of(1 << 20)).unwrap();
        assert_eq!((p.heap_size, p.stride), (1 << 20, 32 << 30));
        assert!(p.stride * 64 <= WINDOW_SPACE);
    }

    #[test]
    fn every_count_fits_the_address_space() {
        let node = machine(2 << 40, None);
        for n in 1..=MAX_PES {
            let p = Plan::new(n, &node, HeapSettings::default()).unwrap();
            assert!(p.stride >= MIN_STRIDE);
            assert!(p.stride * n as u64 <= WINDOW_SPACE);
            assert!(p.heap_size <= p.stride);
        }
        for n in [0, MAX_PES + 1] {
            assert_eq!(Plan::new(n, &node, HeapSettings::default()), Err(PlanError::BadCount(n)));
        }
    }

    #[test]
    fn limited_address_space_is_shared() {
        let node = machine(24 << 30, Some(4 << 30));
        let p = Plan::new(4, &node, HeapSettings::default()).unwrap();
        assert_eq!(p.heap_size, 512 << 20);
        let refused = Plan::new(4, &node, of(1 << 30));
        assert!(matches!(refused, Err(PlanError::AddressSpaceLimit { .. })));
    }

    #[test]
    fn too_large_is_refused() {
        let small = Plan::new(1, &machine(1 << 30, None), of(2 << 30));
        assert!(matches!(small, Err(PlanError::LargerThanMemory { .. })));
        assert!(small.unwrap_err().to_string().ends_with(" than this node's memory of 1073741824 bytes: give less"));
        let crowded = Plan::new(4096, &machine(8 << 40, None), of(1 << 40));
        assert!(matches!(crowded, Err(PlanError::NoRoom { .. })));
        assert!(crowded.unwrap_err().to_string().contains(" the address space with 4096 PEs: give at most "));
    }
}

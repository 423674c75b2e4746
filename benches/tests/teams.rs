//! What a PE keeps of which PEs are in a team, and on which nodes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ferroshmem_core::job::Placement;
use ferroshmem_core::team::{Members, NodeGroups};

/// Counts the bytes that each thread has allocated and not freed.
struct Counting;

thread_local! {
    static BYTES: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does it all; the counter is not allocated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.set(BYTES.get().wrapping_add(layout.size()));
        // SAFETY: the caller promises that `layout` has a size other than 0.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get().wrapping_sub(layout.size()));
        // SAFETY: the caller promises that `at` was allocated by `alloc` above, from `System`, with this `layout`.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Nodes of each job.
const NODES: usize = 8;

/// Bytes of a team that is so made of all PEs of a job, of blocks on each node or in turn.
fn bytes(n_pes: usize, in_turn: bool, team: impl FnOnce(&Members) -> Members) -> usize {
    let nodes: Vec<usize> = (0..n_pes).map(|pe| if in_turn { pe % NODES } else { pe * NODES / n_pes }).collect();
    let placement: &Placement = Box::leak(Box::new(Placement::new(&nodes, 0)));
    let world = Members::world(n_pes);
    let before = BYTES.get();
    let members = team(&world);
    let groups = NodeGroups::new(&members, placement);
    assert_eq!(groups.all().len(), NODES);
    BYTES.get() - before
}

#[test]
fn a_strided_team_takes_no_more_on_more_pes() {
    let both = |n_pes, in_turn| {
        let of_all = bytes(n_pes, in_turn, Clone::clone);
        // 3 and 8 have no factor in common: each node has members.
        let of_third = bytes(n_pes, in_turn, |world| world.strided(1, 3, n_pes as i32 / 3).unwrap());
        [of_all, of_third]
    };
    for in_turn in [false, true] {
        let few = both(64, in_turn);
        assert!(few.iter().all(|bytes| *bytes <= 128 * NODES), "{few:?} bytes");
        for n_pes in [1024, 4096] {
            assert_eq!(both(n_pes, in_turn), few, "{n_pes} PEs");
        }
    }
}

/// Of a list, each number has a word for either way, in the team and in its node group.
#[test]
fn a_list_takes_16_bytes_for_each_member() {
    for n_pes in [64, 1024, 4096] {
        // Neighbours change places.
        let list = bytes(n_pes, false, |world| world.pick((0..n_pes).map(|i| i ^ 1)));
        assert!(list <= 16 * n_pes + 192 * NODES, "{list} bytes for {n_pes} PEs");
    }
}

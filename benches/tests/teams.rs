//! What a PE keeps of which PEs are in a team, and on which nodes.

use ferroshmem_benches::counting::{self, Counting};
use ferroshmem_core::job::Placement;
use ferroshmem_core::team::{Members, NodeGroups};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Nodes of each job.
const NODES: usize = 8;

/// Bytes of a team that is so made of all PEs of a job, of blocks on each node or in turn.
fn bytes(n_pes: usize, in_turn: bool, team: impl FnOnce(&Members) -> Members) -> usize {
    let nodes: Vec<usize> = (0..n_pes).map(|pe| if in_turn { pe % NODES } else { pe * NODES / n_pes }).collect();
    let placement: &Placement = Box::leak(Box::new(Placement::new(&nodes, 0)));
    let world = Members::world(n_pes);
    let before = counting::bytes();
    let members = team(&world);
    let groups = NodeGroups::new(&members, placement);
    assert_eq!(groups.all().len(), NODES);
    counting::bytes() - before
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

//! What a PE keeps of which PEs are in a team, and on which nodes and sockets.

use std::alloc::{Layout, alloc};
use std::ptr::NonNull;

use ferroshmem_benches::counting::{self, Counting};
use ferroshmem_core::job::{Localities, Placement};
use ferroshmem_core::team::{Members, SharedTables, TeamPlacement};
use ferroshmem_platform::socket::Locality;

#[global_allocator]
static COUNTING: Counting = Counting;

/// Nodes of a job on several.
const NODES: usize = 8;

/// Bytes in a PE of a team that is so made of all PEs of a job, of blocks on each node or in turn: its own, and its
/// part of what the members on its node share. On each node, two sockets have so many PEs in turn.
fn bytes(
    (n_pes, nodes, in_turn, on_socket): (usize, usize, bool, usize),
    team: impl FnOnce(&Members) -> Members,
) -> usize {
    let node_of: Vec<usize> = (0..n_pes).map(|pe| if in_turn { pe % nodes } else { pe * nodes / n_pes }).collect();
    let sockets = Localities::new((0..n_pes.div_ceil(nodes)).map(|pe| Locality::new(pe / on_socket % 2, 0)));
    let world = Members::world(n_pes);
    let before = counting::bytes();
    let members = team(&world);
    let me = members.pe(0);
    let between = counting::bytes();
    let placement: &Placement = Box::leak(Box::new(Placement::new(&node_of, me)));
    let of_job = counting::bytes() - between;
    let mut team = TeamPlacement::new(&members, me, placement, &sockets);
    assert_eq!((team.groups().all().len(), team.local().shape().sockets), (nodes, 2));
    let (tables, readers) = (team.table_bytes(), team.local().size);
    let mut shared = 0;
    if tables > SharedTables::least(None) {
        shared = SharedTables::HEAD + tables;
        // SAFETY: of some bytes, which stay allocated.
        let start = NonNull::new(unsafe { alloc(Layout::from_size_align(shared, 64).unwrap()) }).unwrap();
        // SAFETY: so many bytes have just been allocated, and nothing else uses them.
        let at_start = || unsafe { SharedTables::at(start) };
        team.write_tables(&mut at_start());
        team.share_tables(&mut at_start());
    }
    assert!((0..n_pes).all(|pe| members.index_of(pe) == team.members().index_of(pe)));
    drop(members);
    counting::bytes() - before - of_job - shared + shared.div_ceil(readers)
}

#[test]
fn a_strided_team_takes_no_more_on_more_pes() {
    let both = |n_pes, in_turn| {
        let job = (n_pes, NODES, in_turn, n_pes / NODES / 2);
        let of_all = bytes(job, Clone::clone);
        // 3 and 8 have no factor in common: each node has members.
        let of_third = bytes(job, |world| world.strided(1, 3, n_pes as i32 / 3).unwrap());
        [of_all, of_third]
    };
    for in_turn in [false, true] {
        let few = both(64, in_turn);
        assert!(few.iter().all(|bytes| *bytes <= 160 * NODES), "{few:?} bytes");
        for n_pes in [1024, 4096] {
            assert_eq!(both(n_pes, in_turn), few, "{n_pes} PEs");
        }
    }
}

/// Not even of far more PEs.
#[test]
fn a_list_takes_as_much_of_many_pes_as_of_few() {
    let of = |n_pes: usize| {
        let job = (n_pes, 1, false, n_pes / 2);
        bytes(job, |world| world.pick((0..64).map(|i| (i ^ 1) * (n_pes / 64))))
    };
    let few = of(512);
    assert!(few <= 20 * 64 + 256, "{few} bytes");
    for n_pes in [4096, 1 << 17] {
        assert_eq!(of(n_pes), few, "{n_pes} PEs");
    }
}

/// Each number has a word for either way, in the team, on several nodes in its node group, and on its socket: up to
/// 4 KiB in each PE, or beyond in memory that the PEs of a node share.
#[test]
fn a_list_takes_no_more_on_more_pes() {
    for nodes in [1, NODES] {
        // Neighbours change places. Three PEs and three others are on either socket.
        let list = |n_pes| bytes((n_pes, nodes, false, 3), |world| world.pick((0..n_pes).map(|i| i ^ 1)));
        let [few, some, most] = [64, 1024, 4096].map(list);
        assert!(most <= some && some <= few && few <= 2048 + 192 * nodes, "{few}, {some} and {most} bytes");
        // All from 4 KiB on are shared.
        for n_pes in [128, 256, 384, 512, 768] {
            let bytes = list(n_pes);
            assert!(bytes <= 4096 + 192 * nodes, "{bytes} bytes for {n_pes} PEs");
        }
    }
}

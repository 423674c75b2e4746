//! Collectives of members on several sockets: their results with all maps of sockets, and what crosses.

use std::sync::Mutex;

use ferroshmem_core::group::threads::{Member, each};
use ferroshmem_core::wait::POLICY;
use ferroshmem_layout::{FLAG_BYTES, RING_BYTES};
use ferroshmem_tuning::Algorithm::{Dissemination, RecursiveDoubling, Sockets};
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, EAGER};

use super::{Arrays, BYTES, GUARD, MOST, TestCall, calls, longest};

/// The sockets of members: even and odd numbers, one alone, in turn, downwards.
const MAPS: &[&[usize]] = &[
    &[0, 1],
    &[0, 0, 1],
    &[3, 1, 1, 1],
    &[0, 1, 0, 1, 0],
    &[0, 0, 0, 1, 1, 1, 1],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[5, 4, 4, 3, 2, 1, 0, 0, 0],
    &[0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5],
    &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
];

fn run(map: &[usize], body: impl Fn(Member) + Sync) {
    POLICY.set(16, 2, None);
    let members = Member::all(map.len(), 0).map(|member| member.on_sockets(map));
    each(members, body);
}

fn is_by_sockets(call: &TestCall) -> bool {
    [call.choice, call.barrier].iter().any(|choice| choice.algorithm == Sockets)
}

#[test]
fn results_are_right_on_all_maps() {
    for map in MAPS {
        for collective in Collective::ALL {
            let size = map.len();
            let arrays = Arrays::new(size, longest(collective, size) * MOST);
            let all = [&BYTES[..], &[FLAG_BYTES, FLAG_BYTES + 8, 4096]].concat();
            let mut calls = calls(collective, &all, size);
            calls.retain(is_by_sockets);
            assert!(!calls.is_empty());
            run(map, |member| {
                for call in &calls {
                    call.check(&arrays, &member);
                }
            });
        }
    }
}

/// Bytes of other sockets that all members touch in one call, and flags that they post to them.
fn crossed(map: &[usize], call: TestCall) -> (usize, usize) {
    let size = map.len();
    let arrays = Arrays::new(size, longest(call.collective, size) * (call.bytes + GUARD));
    let sum = Mutex::new((0, 0));
    run(map, |member| {
        let (bytes, flags) = call.crossed(&arrays, &member);
        let mut sum = sum.lock().unwrap();
        *sum = (sum.0 + bytes, sum.1 + flags);
    });
    sum.into_inner().unwrap()
}

fn call(collective: Collective, algorithm: Algorithm, barrier: Algorithm, bytes: usize) -> TestCall {
    TestCall {
        collective,
        choice: Choice::direct(algorithm),
        barrier: Choice::direct(barrier),
        bytes,
        root: 1,
        in_place: false,
        salt: 0,
    }
}

/// Two to six sockets of three to eight members.
fn maps() -> impl Iterator<Item = (usize, Vec<usize>)> {
    [(2, 3), (2, 8), (3, 5), (4, 4), (6, 3)]
        .into_iter()
        .map(|(sockets, each)| (sockets, (0..sockets * each).map(|m| m / each).collect()))
}

#[test]
fn a_barrier_crosses_once_per_socket_and_direction() {
    let barrier = |algorithm| call(Collective::Barrier, algorithm, algorithm, 0);
    for (sockets, map) in maps() {
        assert_eq!(crossed(&map, barrier(Sockets)), (0, 2 * (sockets - 1)));
    }
    // Of the others, here 16 members on two sockets: those ahead of the last 2^k of each.
    let halves: Vec<usize> = (0..16).map(|m| m / 8).collect();
    let flags = 2 * (1 + 2 + 4 + 8);
    assert_eq!(crossed(&halves, barrier(Dissemination)), (0, flags));
}

#[test]
fn a_reduction_crosses_once_per_socket_and_direction() {
    let reduce = |algorithm, bytes| call(Collective::Reduce, algorithm, Sockets, bytes);
    for (sockets, map) in maps() {
        let others = sockets - 1;
        // Values with the flags.
        assert_eq!(crossed(&map, reduce(Sockets, 8)), (2 * others * 8, 2 * others));
        // Values in buffers: the flags announce them.
        assert_eq!(crossed(&map, reduce(Sockets, EAGER)), (2 * others * EAGER, 2 * others));
        // Each element to the socket that reduces it, and from there; and four synchronisations.
        let large = 64 * 60 * sockets;
        assert_eq!(crossed(&map, reduce(Sockets, large)), (2 * others * large, 8 * others));
    }
    let halves: Vec<usize> = (0..16).map(|m| m / 8).collect();
    // A value each way between all pairs.
    assert_eq!(crossed(&halves, reduce(RecursiveDoubling, 8)), (16 * 8, 16));
    let slices = crossed(&halves, reduce(Algorithm::Slices, 65_536));
    assert_eq!(slices, (2 * 8 * 65_536, 4));
}

#[test]
fn a_broadcast_crosses_once_per_socket() {
    let broadcast = |algorithm, bytes| call(Collective::Broadcast, algorithm, Sockets, bytes);
    for (sockets, map) in maps() {
        let others = sockets - 1;
        for bytes in [8, RING_BYTES] {
            assert_eq!(crossed(&map, broadcast(Sockets, bytes)), (others * bytes, 0));
        }
        for bytes in [EAGER, 40_000] {
            let expected = (others * bytes, 4 * others);
            assert_eq!(crossed(&map, broadcast(Sockets, bytes)), expected);
        }
        let each = map.len() / sockets;
        let pulled = crossed(&map, broadcast(Algorithm::Pull, 40_000));
        assert_eq!(pulled.0, others * each * 40_000);
    }
}

#[test]
fn gathered_blocks_cross_once_per_socket() {
    for collective in [Collective::Fcollect, Collective::Collect] {
        let gather = |algorithm| call(collective, algorithm, Sockets, 4096);
        for (sockets, map) in maps() {
            let (bytes, _) = crossed(&map, gather(Sockets));
            let (pulled, _) = crossed(&map, gather(Algorithm::Pull));
            let each = map.len() / sockets;
            assert_eq!(bytes * each, pulled, "{collective:?}");
        }
    }
}

/// Small broadcasts run ahead of each other, from changing roots, and wrap round the rings.
#[test]
fn broadcasts_run_ahead_of_other_sockets() {
    for map in MAPS {
        let size = map.len();
        let choice = Choice::direct(Sockets);
        let decisions = DecisionTable::fixed(Collective::Broadcast, choice);
        run(map, |member| {
            for round in 0..500_usize {
                let (root, bytes) = ((round / 7) % size, [8, 200][round / 3 % 2]);
                let mut value = [0_u8; 200];
                if member.me == root {
                    value = [round as u8; 200];
                }
                if (member.me + round) % 5 == 0 {
                    std::thread::yield_now();
                }
                let group = member.group(&decisions);
                let (dest, source) = (value.as_mut_ptr(), value.as_ptr());
                let sockets = group.sockets();
                // SAFETY: the value is longer; a root's is not written.
                unsafe { group.broadcast_small(Some(root), sockets, dest, source, bytes) };
                assert!(value[..bytes].iter().all(|b| *b == round as u8), "{round} of {map:?}");
            }
        });
    }
}

//! Collectives between two groups: each algorithm, groups of all sizes, and the synchronisations that they take.

use ferroshmem_core::connection::Groups;
use ferroshmem_core::group::threads::{Array, Member};
use ferroshmem_core::memory::IN_GLOBALS;
use ferroshmem_layout::RING_BYTES;
use ferroshmem_simd::{Operator, ops::Sum};
use ferroshmem_tuning::{Algorithm, Collective, EAGER};

use super::{Arrays, GUARD, MOST, TestCall, bytes_of, calls, data, run_oversubscribed};
use crate::intergroup::{BothGroups, Intergroup, Part};

/// Members of either group.
const GROUPS: [[usize; 2]; 6] = [[1, 1], [2, 1], [1, 3], [3, 3], [2, 5], [9, 4]];

/// The members' arrays: `dest` of group 0 and `source` of group 1 are where the other group has its other array, and
/// elsewhere within it.
fn groups(arrays: &Arrays, sizes: [usize; 2], me: usize) -> Groups {
    let all = sizes[0] + sizes[1];
    let parts = |array: &Array<u64>| -> Box<[usize]> {
        let part = |member| array.addresses(me).of(member).expose_provenance();
        (0..all).map(part).collect()
    };
    Groups { sizes, own: usize::from(me >= sizes[0]), heaps: parts(&arrays.source), globals: parts(&arrays.dest) }
}

/// Bytes around the limits of the algorithms.
const SIZES: [usize; 6] = [0, 8, RING_BYTES, EAGER, EAGER + 8, MOST];
/// Bytes from the start of group 1's arrays to what it uses.
const SHIFT: usize = 64;

/// Makes the call with these lengths of the groups' contributions, and checks what arrives; the epochs that it takes.
fn check(arrays: &Arrays, member: &Member, sizes: [usize; 2], call: &TestCall, lengths: [usize; 2]) -> u64 {
    let decisions = call.decisions();
    let group = member.group(&decisions);
    let groups = groups(arrays, sizes, member.me);
    let (own, others) = (groups.own(), groups.others());
    let (own_group, index) = (groups.own, member.me - own.start);
    let (sent, received) = (lengths[own_group], lengths[1 - own_group]);
    let root_index = call.salt % 2;
    let root = groups.of(root_index).start + call.root % sizes[root_index];
    let block = |from: usize, to: usize, bytes: usize| match call.collective {
        Collective::Alltoall => data(call, from * 100 + to, bytes),
        _ => data(call, from, bytes),
    };
    let reduced = |from: &mut dyn Iterator<Item = usize>, bytes: usize| {
        let mut all = vec![0_u64; bytes / 8];
        for member in from {
            for (sum, part) in all.iter_mut().zip(data(call, member, bytes).chunks(8)) {
                *sum = sum.wrapping_add(u64::from_le_bytes(part.try_into().unwrap()));
            }
        }
        bytes_of(&mut all).to_vec()
    };
    let (mine, result) = match call.collective {
        Collective::Alltoall => (
            others.clone().map(|m| block(member.me, m, sent)).collect::<Vec<_>>().concat(),
            others.clone().map(|m| block(m, member.me, received)).collect::<Vec<_>>().concat(),
        ),
        Collective::Fcollect => (
            block(member.me, 0, sent).to_vec(),
            others.clone().map(|m| block(m, 0, received)).collect::<Vec<_>>().concat(),
        ),
        Collective::Broadcast => (
            data(call, member.me, sent).to_vec(),
            if own_group == root_index { Vec::new() } else { data(call, root, received).to_vec() },
        ),
        _ => (reduced(&mut (member.me..=member.me), sent), reduced(&mut others.clone(), received)),
    };
    let (to, from) = match own_group {
        0 => (&arrays.dest, &arrays.source),
        _ => (&arrays.source, &arrays.dest),
    };
    let shift = own_group * SHIFT;
    let (dest, source) = (&mut bytes_of(to.of(member.me))[shift..], &mut bytes_of(from.of(member.me))[shift..]);
    dest.fill(0xA5);
    source[..mine.len()].copy_from_slice(&mine);
    let offsets = [IN_GLOBALS, 0];
    let (dest, source) = (dest.as_mut_ptr(), source.as_mut_ptr());
    let before = member.epochs();
    let intergroup = Intergroup {
        group: &group,
        groups: &groups,
        dest: (dest, offsets[own_group] + shift as u64),
        source: (source, offsets[1 - own_group] + shift as u64),
        sent,
        received,
    };
    // SAFETY: the arrays are long enough; all members call this.
    unsafe {
        match call.collective {
            Collective::Broadcast if member.me == root => intergroup.broadcast(Part::Root),
            Collective::Broadcast if own_group == root_index => intergroup.broadcast(Part::None),
            Collective::Broadcast => intergroup.broadcast(Part::From(root)),
            Collective::Reduce => intergroup.reduce(sent / 8, Operator::of::<u64, Sum>()),
            other => intergroup.exchange(other),
        }
    }
    let epochs = member.epochs() - before;
    let got = &bytes_of(to.of(member.me))[shift..];
    assert!(got[..result.len()] == result, "member {} of {sizes:?}, PE {index}, {call:?}", member.me);
    let behind = &got[result.len()..][..GUARD];
    assert!(behind.iter().all(|b| *b == 0xA5), "behind: {sizes:?} {call:?}");
    let after = &bytes_of(from.of(member.me))[shift..];
    assert!(after[..mine.len()] == mine, "source: {sizes:?} {call:?}");
    epochs
}

fn everywhere(collective: Collective) {
    for sizes in GROUPS {
        let all = sizes[0] + sizes[1];
        let blocks = match collective {
            Collective::Alltoall | Collective::Fcollect => sizes[0].max(sizes[1]),
            _ => 1,
        };
        let arrays = Arrays::new(all, blocks * MOST + SHIFT);
        let calls = calls(collective, &SIZES, all);
        let one_way = matches!(collective, Collective::Alltoall | Collective::Fcollect);
        run_oversubscribed(all, |member| {
            for call in &calls {
                let mut call = *call;
                if collective == Collective::Reduce {
                    call.bytes &= !7;
                }
                let lengths = match call.salt % 3 {
                    0 if one_way => [call.bytes, call.bytes / 3],
                    1 if one_way => [0, call.bytes],
                    _ => [call.bytes; 2],
                };
                check(&arrays, &member, sizes, &call, lengths);
            }
        });
    }
}

#[test]
fn broadcast_to_the_other_group() {
    everywhere(Collective::Broadcast);
}

#[test]
fn collect_of_the_other_group() {
    everywhere(Collective::Fcollect);
}

#[test]
fn exchange_with_the_other_group() {
    everywhere(Collective::Alltoall);
}

#[test]
fn reduction_of_the_other_group() {
    everywhere(Collective::Reduce);
}

/// As many as a team's collective: one where the contributions fit library memory, and where the last members to
/// arrive do the work; else two. Small broadcasts take none.
#[test]
fn synchronisations_are_those_of_a_team() {
    use Collective::{Alltoall, Broadcast, Fcollect, Reduce};
    for collective in [Broadcast, Fcollect, Alltoall, Reduce] {
        for bytes in [8, 40_000] {
            let calls = calls(collective, &[bytes; 4], 5);
            let arrays = Arrays::new(5, 3 * MOST + SHIFT);
            run_oversubscribed(5, |member| {
                for call in &calls {
                    let epochs = check(&arrays, &member, [3, 2], call, [bytes; 2]);
                    let is_small = collective == Reduce && call.choice.algorithm == Algorithm::RecursiveDoubling;
                    let is_eager = bytes <= EAGER && (is_small || call.choice.algorithm == Algorithm::Eager);
                    let expected = match call.barrier.algorithm {
                        _ if is_eager && collective == Broadcast => 0,
                        _ if is_eager => 1,
                        Algorithm::Central => 1,
                        _ => 2,
                    };
                    assert_eq!(epochs, expected, "{call:?}");
                }
            });
        }
    }
}

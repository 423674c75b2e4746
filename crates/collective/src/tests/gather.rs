//! Gather, scatter and the exchanges of blocks of different lengths: results, and the bytes that members move.

use std::sync::Mutex;

use ferroshmem_core::group::threads::Array;
use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_layout::RING_BYTES;
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, EAGER};

use super::{Arrays, BYTES, GUARD, MOST, SIZES, TestCall, data, run_oversubscribed};
use crate::alltoall::{Blocks, alltoallv};
use crate::gather::{copy_at, gather, scatter};

/// Element, in bytes, of the forms with displacements.
const ELEM: usize = 3;

fn call(bytes: usize, root: usize, salt: usize) -> TestCall {
    let any = Choice::direct(Algorithm::Dissemination);
    TestCall { collective: Collective::Fcollect, choice: any, barrier: any, bytes, root, in_place: false, salt }
}

/// Length of the block between two members.
fn length(call: &TestCall, from: usize, to: usize) -> usize {
    (from * 7 + to * 3 + call.salt) % 5 * (call.bytes / 20) / ELEM
}

fn check_gather(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let (mine, is_root) = (data(call, group.me, call.bytes), group.me == call.root);
    arrays.prepare(call, group.me, mine);
    let (dest, source) = arrays.addresses(call, group.me);
    // SAFETY: the arrays are long enough; all members call this. So below.
    unsafe { gather(group, dest, source, call.bytes, call.root) };
    let all: Vec<_> = (0..group.size).map(|m| data(call, m, call.bytes)).collect();
    // Nothing is written elsewhere.
    arrays.check(call, group.me, mine, if is_root { all.concat() } else { Vec::new() }.as_slice());
}

fn check_scatter(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let all: Vec<_> = (0..group.size).map(|m| data(call, group.me * 100 + m, call.bytes)).collect();
    arrays.prepare(call, group.me, &all.concat());
    let (dest, source) = arrays.addresses(call, group.me);
    // SAFETY: as above.
    unsafe { scatter(group, dest, source, call.bytes, call.root) };
    arrays.check(call, group.me, &all.concat(), data(call, call.root * 100 + group.me, call.bytes));
}

/// Places of blocks between a member and each other one, those of the last first.
fn places(group: &Group<'_>, lengths: impl Fn(usize) -> usize) -> Vec<usize> {
    (0..group.size).map(|m| (m + 1..group.size).map(&lengths).sum()).collect()
}

/// Both forms between the root and all, there and back.
fn check_displaced(arrays: &Arrays, displs: &Array<usize>, group: &Group<'_>, call: &TestCall) {
    let (me, root) = (group.me, call.root);
    let lengths = |m| length(call, m, root);
    let bytes = lengths(me) * ELEM;
    displs.of(me).copy_from_slice(&places(group, lengths));
    if me != root {
        displs.of(me).fill(usize::MAX); // is not looked at
    }
    let (mine, of_root) = (data(call, me, bytes), displs.addresses(me));
    arrays.prepare(call, me, mine);
    let (dest, source): (MemberAddresses<'_, u8>, MemberAddresses<'_, u8>) = arrays.addresses(call, me);
    let all: Vec<u8> = (0..group.size).rev().flat_map(|m| data(call, m, lengths(m) * ELEM)).copied().collect();
    // SAFETY: as above.
    unsafe { copy_at(group, (of_root, ELEM), root, bytes, |at| [dest.from(at).of(root), source.of(me)]) };
    arrays.check(call, me, mine, if me == root { &all } else { &[] });
    // SAFETY: as above.
    unsafe { copy_at(group, (of_root, ELEM), root, bytes, |at| [source.of(me), dest.from(at).of(root)]) };
    assert_eq!(&arrays.source(me)[..bytes], mine);
}

fn check_exchange(arrays: &Arrays, displs: &Array<usize>, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    let block = |from: usize, to: usize| data(call, from * 100 + to, length(call, from, to) * ELEM);
    displs.of(me).copy_from_slice(&places(group, |m| length(call, m, me)));
    let counts: Vec<_> = (0..group.size).map(|m| length(call, me, m)).collect();
    let starts: Vec<_> = (0..group.size).map(|m| counts[..m].iter().sum()).collect();
    let mine: Vec<u8> = (0..group.size).flat_map(|m| block(me, m)).copied().collect();
    let result: Vec<u8> = (0..group.size).rev().flat_map(|m| block(m, me)).copied().collect();
    arrays.prepare(call, me, &mine);
    let (dest, source): (MemberAddresses<'_, u8>, MemberAddresses<'_, u8>) = arrays.addresses(call, me);
    let blocks = Blocks { dest: displs.addresses(me), source: starts.as_ptr(), counts: counts.as_ptr(), elem: ELEM };
    // SAFETY: as above.
    unsafe { alltoallv(group, |at, _| dest.from(at), source.of(me), &blocks) };
    arrays.check(call, me, &mine, &result);
}

#[test]
fn gathers_and_scatters() {
    for size in SIZES {
        let arrays = Arrays::new(size, size * MOST);
        let displs = Array::<usize>::new(size, size);
        run_oversubscribed(size, |member| {
            for (salt, &bytes) in BYTES.iter().chain(&[RING_BYTES / size, EAGER / size]).enumerate() {
                for &barrier in Collective::Barrier.choices() {
                    let decisions = DecisionTable::fixed(Collective::Barrier, barrier);
                    let group = member.group(&decisions);
                    let call = call(bytes, (salt * 7 + 3) % size, salt);
                    check_gather(&arrays, &group, &call);
                    check_scatter(&arrays, &group, &call);
                    check_displaced(&arrays, &displs, &group, &call);
                    check_exchange(&arrays, &displs, &group, &call);
                }
            }
        });
    }
}

/// Bytes that each member reads, which are as many as it writes.
fn moved(size: usize, bytes: usize, barrier: Algorithm, scatters: bool) -> Vec<usize> {
    let arrays = Arrays::new(size, size * (bytes + GUARD));
    let counted: Vec<_> = (0..size).map(|_| Mutex::new(0)).collect();
    let call = call(bytes, 1, 0);
    run_oversubscribed(size, |member| {
        let decisions = DecisionTable::fixed(Collective::Barrier, Choice::direct(barrier));
        let group = member.group(&decisions);
        let check = if scatters { check_scatter } else { check_gather };
        check(&arrays, &group, &call);
        let (read, written) = group.traffic().total();
        assert_eq!(read, written);
        *counted[member.me].lock().unwrap() = read;
    });
    counted.into_iter().map(|n| n.into_inner().unwrap()).collect()
}

#[test]
fn each_block_moves_once_or_through_library_memory() {
    for p in [2, 3, 8] {
        let at_root = |m, root, others| if m == 1 { root } else { others };
        let expect = |bytes: usize, scatters, expected: &dyn Fn(usize) -> usize| {
            let expected = Vec::from_iter((0..p).map(expected));
            let own = moved(p, bytes, Algorithm::Dissemination, scatters);
            assert_eq!(own, expected, "{p} members, {bytes} bytes, scatters: {scatters}");
            let shared = moved(p, bytes, Algorithm::Central, scatters);
            assert_eq!(shared.iter().sum::<usize>(), expected.iter().sum());
        };
        // A ring's entry for each value, of which the root counts its own, too; then all to the root.
        expect(8, false, &|m| at_root(m, 8 + p * 8, 8));
        expect(EAGER, false, &|m| at_root(m, p * EAGER, EAGER));
        expect(MOST, false, &|_| MOST);
        // All blocks to each member, of which it copies its own.
        expect(8, true, &|_| p * 8 + 8);
        expect(EAGER / p, true, &|m| EAGER / p + at_root(m, EAGER / p * p, 0));
        expect(MOST, true, &|_| MOST);
    }
}

//! Bytes that each member reads and writes, against the formulas of the algorithms; those of
//! reductions are with their other tests.

use std::sync::Mutex;

use ferroshmem_layout::RING_BYTES;
use ferroshmem_tuning::Algorithm::{Central, Dissemination, Eager, Pull, Push, Slices, Tree};
use ferroshmem_tuning::{Algorithm, Choice, Collective};

use super::{Arrays, GUARD, TestCall, longest, run_oversubscribed};
use crate::tests::collect::contribution;

/// Bytes of a block: slices of it for up to 16 members are of one length, in whole lines.
const BYTES: usize = 2048;

/// Bytes read and written by each member in one call.
fn moved(call: TestCall, size: usize) -> Vec<(usize, usize)> {
    let arrays = Arrays::new(size, longest(call.collective, size) * (call.bytes + GUARD));
    let counted: Vec<_> = (0..size).map(|_| Mutex::new((0, 0))).collect();
    run_oversubscribed(size, |member| {
        *counted[member.me].lock().unwrap() = call.check(&arrays, &member);
    });
    counted.into_iter().map(|c| c.into_inner().unwrap()).collect()
}

fn call(collective: Collective, algorithm: Algorithm, barrier: Algorithm, salt: usize) -> TestCall {
    TestCall {
        collective,
        choice: Choice::direct(algorithm),
        barrier: Choice::direct(barrier),
        bytes: BYTES,
        root: 1,
        in_place: false,
        salt,
    }
}

/// Checks what the algorithm moves where each member does its own part: `expected(m)` is what
/// member m reads and writes. Where PEs outnumber cores they move the same together.
fn expect(
    collective: Collective,
    algorithm: Algorithm,
    size: usize,
    salt: usize,
    expected: impl Fn(usize) -> (usize, usize),
) {
    let expected: Vec<_> = (0..size).map(expected).collect();
    let own = moved(call(collective, algorithm, Dissemination, salt), size);
    assert_eq!(own, expected, "{collective:?} by {algorithm:?}, {size}");
    let sum =
        |all: &[(usize, usize)]| -> (usize, usize) { all.iter().fold((0, 0), |sum, m| (sum.0 + m.0, sum.1 + m.1)) };
    let shared = moved(call(collective, algorithm, Central, salt), size);
    assert_eq!(sum(&shared), sum(&expected), "{collective:?} by {algorithm:?}, {size}");
}

fn both(bytes: usize) -> (usize, usize) {
    (bytes, bytes)
}

#[test]
fn broadcasts() {
    for p in [2, 4, 8, 16] {
        let expect = |algorithm, expected: &dyn Fn(usize) -> usize| {
            expect(Collective::Broadcast, algorithm, p, 1, |m| both(expected(m)));
        };
        // The root shows its source, then all copy that.
        expect(Eager, &|m| BYTES + if m == 1 { BYTES } else { 0 });
        expect(Pull, &|_| BYTES);
        // Few bytes go out by the root and in by each other one, with no other words.
        let few = TestCall { bytes: RING_BYTES, ..call(Collective::Broadcast, Eager, Central, 1) };
        for (m, moved) in moved(few, p).into_iter().enumerate() {
            assert_eq!(moved, both(RING_BYTES * if m == 1 { 2 } else { 1 }));
        }
        expect(Push, &|m| if m == 1 { p * BYTES } else { 0 });
        expect(Tree, &|_| BYTES);
        // A part of the root's source, to p destinations.
        expect(Slices, &|_| BYTES);
    }
    // The destination is the source already.
    let in_place = TestCall { in_place: true, ..call(Collective::Broadcast, Pull, Dissemination, 1) };
    assert_eq!(moved(in_place, 3), [both(BYTES), both(0), both(BYTES)]);
}

#[test]
fn gatherings() {
    for p in [2, 3, 8] {
        let all = p * BYTES;
        for collective in [Collective::Fcollect, Collective::Collect] {
            // Short contributions to a collect are copied before the members know the others' sizes.
            let shown = if collective == Collective::Collect { BYTES } else { 0 };
            expect(collective, Eager, p, 0, |_| both(BYTES + all));
            expect(collective, Pull, p, 0, |_| both(shown + all));
            expect(collective, Push, p, 0, |_| both(shown + all));
        }
        // One member contributes everything: no member can pull from members without a source.
        let call = call(Collective::Collect, Pull, Dissemination, 1);
        for (m, moved) in moved(call, p).into_iter().enumerate() {
            let mine = contribution(&call, p, m);
            assert_eq!(moved, both(mine + p * mine));
        }
    }
}

#[test]
fn exchanges() {
    for p in [2, 3, 8] {
        let all = p * BYTES;
        for algorithm in [Pull, Push] {
            expect(Collective::Alltoall, algorithm, p, 0, |_| both(all));
            expect(Collective::Alltoalls, algorithm, p, 3, |_| both(all));
        }
        let short = TestCall { bytes: 64, ..call(Collective::Alltoall, Eager, Dissemination, 0) };
        // All blocks are shown together.
        assert_eq!(moved(short, p), vec![both(2 * 64 * p); p]);
    }
}

#[test]
fn scans() {
    for p in [2, 4, 8, 16] {
        // By the salt: numbers of 8 bytes, with the member's own or without.
        for (salt, inclusive) in [(12, 1), (2, 0)] {
            let sources = |m: usize| (m + inclusive) * BYTES;
            expect(Collective::Scan, Eager, p, salt, |m| (BYTES + sources(m), 2 * BYTES));
            expect(Collective::Scan, Pull, p, salt, |m| (sources(m), BYTES));
            // A part of p sources, added up to p destinations.
            expect(Collective::Scan, Slices, p, salt, |_| both(BYTES));
        }
    }
}

//! Reductions to one member and to each a block, by operators whose operands may not be swapped; bytes that they move.

use std::sync::Mutex;

use ferroshmem_core::group::threads::Array;
use ferroshmem_layout::RING_BYTES;
use ferroshmem_simd::{Located, Operator};
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, EAGER};

use super::{SIZES, run_oversubscribed};
use crate::reduce::{reduce, reduce_root, reduce_scatter};

/// A map x -> factor * x + term.
type Map = [u32; 2];

fn after(first: Map, second: Map) -> Map {
    let factor = second[0];
    [first[0].wrapping_mul(factor), first[1].wrapping_mul(factor).wrapping_add(second[1])]
}

/// Maps, one after the other.
unsafe extern "C" fn compose(dest: *mut u8, a: *const u8, b: *const u8, n: usize) {
    let (dest, a, b) = (dest.cast::<Map>(), a.cast::<Map>(), b.cast::<Map>());
    for i in 0..n {
        // SAFETY: the caller promises `n` elements.
        unsafe { dest.add(i).write(after(a.add(i).read(), b.add(i).read())) };
    }
}

static COMPOSE: Operator = Operator::by(compose, size_of::<Map>(), false, false);

/// Elements around the limits of the algorithms, some for all members together.
fn lengths(size: usize) -> Vec<usize> {
    let elem = size_of::<Map>();
    let mut all = vec![0, 1, 7, RING_BYTES / elem, RING_BYTES / elem + 1, EAGER / elem, EAGER / elem + 1, 3000];
    all.extend([EAGER / elem / size, EAGER / elem / size + 1]);
    all
}

/// The calls of all members, with the barriers in turn, which begin with this `number`.
fn check(size: usize, choice: Choice, number: usize) {
    let barriers = Collective::Barrier.choices();
    let longest = 6000 * size + 1;
    let (dest, source) = (Array::<Map>::new(size, longest), Array::<Map>::new(size, longest));
    run_oversubscribed(size, |member| {
        let me = member.me;
        for (round, n) in lengths(size).into_iter().enumerate() {
            let barrier = barriers[(number + round) % barriers.len()];
            let decisions = DecisionTable::fixed(Collective::Reduce, choice).with(Collective::Barrier, barrier);
            let group = member.group(&decisions);
            let root = (round * 5 + 2) % size;
            let value = |m: usize, i: usize| [(2 * m + i) as u32 | 1, (m * 77 + i * 3 + round) as u32];
            let expected = |i: usize| (0..size).map(|m| value(m, i)).reduce(after).unwrap();
            let fill = || {
                source.of(me)[..n * size].iter_mut().enumerate().for_each(|(i, e)| *e = value(me, i));
                dest.of(me)[..=n].fill([9; 2]);
            };
            let (to, from) = (dest.addresses(me).bytes(), source.addresses(me).bytes());
            fill();
            // SAFETY: the arrays are long enough; all members call this. So below.
            unsafe { reduce_root(&group, to, from, n, &COMPOSE, root) };
            for (i, element) in dest.of(me)[..n].iter().enumerate() {
                let right = if me == root { expected(i) } else { [9; 2] };
                assert_eq!(*element, right, "to the root, {n} elements, member {me} of {size}, element {i}");
            }
            fill();
            // SAFETY: as above.
            unsafe { reduce_scatter(&group, to, from, (&|m| (m * n, n), n * size), &COMPOSE) };
            for (i, element) in dest.of(me)[..n].iter().enumerate() {
                assert_eq!(*element, expected(me * n + i), "to each, {n} elements, member {me}, element {i}");
            }
            assert_eq!(dest.of(me)[n], [9; 2]);
            // Some have none, and one has twice as many.
            let counts = Vec::from_iter((0..size).map(|m| [n, 0, n / 3, 2 * n][m % 4].min(n * size / (m + 1))));
            let before = |m: usize| counts[..m].iter().sum::<usize>();
            let total = before(size);
            source.of(me)[..total].iter_mut().enumerate().for_each(|(i, e)| *e = value(me, i));
            dest.of(me)[..=2 * n].fill([9; 2]);
            // SAFETY: as above.
            unsafe { reduce_scatter(&group, to, from, (&|m| (before(m), counts[m]), total), &COMPOSE) };
            let (first, own) = (before(me), counts[me]);
            for (i, element) in dest.of(me)[..own].iter().enumerate() {
                assert_eq!(*element, expected(first + i), "blocks of {counts:?}, member {me}, element {i}");
            }
            assert_eq!(dest.of(me)[own], [9; 2]);
            fill();
            // SAFETY: as above.
            unsafe { reduce(&group, to, from, n, &COMPOSE) };
            for (i, element) in dest.of(me)[..n].iter().enumerate() {
                assert_eq!(*element, expected(i), "to all by {choice}, {n} elements, member {me}, element {i}");
            }
            fill();
            // SAFETY: as above.
            unsafe { reduce_root(&group, from, from, n, &COMPOSE, root) };
            for (i, element) in source.of(me)[..n].iter().enumerate() {
                let right = if me == root { expected(i) } else { value(me, i) };
                assert_eq!(*element, right, "in place, {n} elements, member {me}, element {i}");
            }
        }
    });
}

#[test]
fn operands_come_in_the_members_order() {
    for (number, size) in SIZES.into_iter().enumerate() {
        check(size, Collective::Reduce.choices()[0], number);
    }
    for (number, &choice) in Collective::Reduce.choices().iter().enumerate() {
        check(5, choice, number);
    }
}

#[test]
fn values_are_located() {
    type Pair = Located<f64>;
    for greatest in [false, true] {
        let pair = |value, index| Pair { value, index };
        let operands = [pair(2.0, 5), pair(1.0, 7), pair(1.0, 3), pair(2.0, 4), pair(f64::NAN, 0)];
        let mut result = pair(0.0, 0);
        let place = |k: usize| (&raw const operands[k]).cast();
        let to = (&raw mut result).cast();
        // SAFETY: one element at each place.
        unsafe { Pair::operator(greatest).fold(false, (&|_| to, 1), (&place, operands.len()), 1, false) };
        assert_eq!((result.value, result.index), if greatest { (2.0, 4) } else { (1.0, 3) });
    }
}

/// Bytes read and written by each of `size` members.
fn moved(size: usize, n: usize, barrier: Algorithm, root: Option<usize>) -> Vec<(usize, usize)> {
    let (dest, source) = (Array::<Map>::new(size, n * size), Array::<Map>::new(size, n * size));
    let counted: Vec<_> = (0..size).map(|_| Mutex::new((0, 0))).collect();
    run_oversubscribed(size, |member| {
        let decisions = DecisionTable::fixed(Collective::Barrier, Choice::direct(barrier));
        let group = member.group(&decisions);
        let (to, from) = (dest.addresses(member.me).bytes(), source.addresses(member.me).bytes());
        // SAFETY: the arrays are long enough; all members call this.
        unsafe {
            match root {
                Some(root) => reduce_root(&group, to, from, n, &COMPOSE, root),
                None => reduce_scatter(&group, to, from, (&|m| (m * n, n), n * size), &COMPOSE),
            }
        }
        *counted[member.me].lock().unwrap() = group.traffic().total();
    });
    counted.into_iter().map(|moved| moved.into_inner().unwrap()).collect()
}

#[test]
fn each_source_is_read_once() {
    const N: usize = 4096;
    let elem = size_of::<Map>();
    for p in [2, 4, 8] {
        let expect = |n: usize, root, expected: &dyn Fn(usize) -> (usize, usize)| {
            let expected = Vec::from_iter((0..p).map(expected));
            assert_eq!(moved(p, n, Algorithm::Dissemination, root), expected, "{p} members, {n} elements, {root:?}");
            let sum = |all: &[(usize, usize)]| all.iter().fold((0, 0), |sum, m| (sum.0 + m.0, sum.1 + m.1));
            assert_eq!(sum(&moved(p, n, Algorithm::Central, root)), sum(&expected));
        };
        // A ring's entry, or an eager buffer, for each value; then the root reads all.
        let through_library =
            |bytes| move |m| (bytes + if m == 1 { p * bytes } else { 0 }, bytes * if m == 1 { 2 } else { 1 });
        expect(1, Some(1), &through_library(elem));
        expect(EAGER / elem, Some(1), &through_library(EAGER));
        // A part of all sources, to the root's.
        expect(N, Some(1), &|_| (N * elem, N / p * elem));
        // All blocks to library memory, then one of each.
        expect(EAGER / elem / p, None, &|_| (2 * EAGER, EAGER + EAGER / p));
        expect(N, None, &|_| (p * N * elem, N * elem));
    }
}

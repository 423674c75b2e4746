//! Every algorithm over threads: right results, any number of members, in place, mixed; and
//! the bytes that each PE reads and writes against the formulas of the algorithms.

use ferroshmem_core::group::threads::{Array, Member, run};
use ferroshmem_simd::ops::{Max, Sum, Xor};
use ferroshmem_simd::{Operator, Reduce};
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable, EAGER, Form};

use super::reduce;

fn decisions(reduce: Choice, barrier: Choice) -> DecisionTable {
    DecisionTable::fixed(Collective::Reduce, reduce).with(Collective::Barrier, barrier)
}

/// One reduction by member `member`, checked; `value(m, i)` is member m's element i, and that of `i + period`, too.
fn check<T, Op>(
    member: &Member,
    decisions: &DecisionTable,
    (dest, source): (&Array<T>, &Array<T>),
    (n, period): (usize, usize),
    value: impl Fn(usize, usize) -> T,
    expected: impl Fn(usize) -> T,
) where
    T: Reduce<Op> + Default + PartialEq + std::fmt::Debug,
{
    let me = member.me;
    let mine: Vec<T> = (0..period).map(|i| value(me, i)).collect();
    for some in source.of(me).chunks_mut(period) {
        some.copy_from_slice(&mine[..some.len()]);
    }
    // SAFETY: both arrays have n elements or more per member; all members call this.
    unsafe {
        reduce(
            &member.group(decisions),
            dest.addresses(me).bytes(),
            source.addresses(me).bytes(),
            n,
            Operator::of::<T, Op>(),
        );
    };
    let choice = decisions.choose(Collective::Reduce, n * size_of::<T>());
    let all: Vec<T> = (0..period).map(expected).collect();
    for (number, some) in dest.of(me)[..n].chunks(period).enumerate() {
        assert_eq!(some, &all[..some.len()], "{choice}, n = {n}, member {me}, from element {}", number * period);
    }
}

fn sums(size: usize, lengths: &[usize]) {
    let longest = *lengths.iter().max().unwrap();
    let (a, b) = (Array::<f64>::new(size, longest), Array::<f64>::new(size, longest));
    run(size, |member| {
        let mut round = 0;
        for &n in lengths {
            for &choice in Collective::Reduce.choices() {
                for &barrier in Collective::Barrier.choices() {
                    let decisions = decisions(choice, barrier);
                    round += 1;
                    // Whole numbers: exact in any order.
                    let value = |m, i| (m * 3 + i % 17 + round) as f64;
                    let all = |i| (0..size).map(|m| value(m, i)).sum();
                    check::<f64, Sum>(&member, &decisions, (&b, &a), (n, 17), value, all);
                    // No synchronisation between: the next call must keep them apart itself.
                    check::<f64, Sum>(&member, &decisions, (&a, &a), (n, 17), value, all);
                }
            }
        }
    });
}

#[test]
fn all_algorithms_reduce_for_any_number_of_members() {
    for size in 1..=9 {
        sums(size, &[0, 1, 2, 7, 8, 9, 65, 300]);
    }
    sums(13, &[1, 8, 100, 1001]);
    sums(16, &[1, 256, 257]);
    sums(17, &[3, 256, 257]);
}

#[test]
fn long_arrays_are_reduced_in_parts() {
    for size in [2, 3, 5] {
        sums(size, &[40_000]);
    }
}

#[test]
fn small_elements_and_other_operators() {
    for size in [2, 3, 6] {
        let (a, b) = (Array::<u8>::new(size, 999), Array::<u8>::new(size, 999));
        let (c, d) = (Array::<i16>::new(size, 999), Array::<i16>::new(size, 999));
        run(size, |member| {
            for n in [1, 55, 56, 57, 63, 64, 65, 999] {
                for &choice in Collective::Reduce.choices() {
                    let decisions = decisions(choice, Collective::Barrier.choices()[n % 3]);
                    let value = |m: usize, i: usize| (m * 7 + i * 5) as u8;
                    let xor = |i| (0..size).fold(0, |x, m| x ^ value(m, i));
                    check::<u8, Xor>(&member, &decisions, (&b, &a), (n, 256), value, xor);
                    let value = |m: usize, i: usize| ((m * 31 + i) % 50) as i16 - 25;
                    let max = |i| (0..size).map(|m| value(m, i)).max().unwrap();
                    check::<i16, Max>(&member, &decisions, (&d, &c), (n, 50), value, max);
                }
            }
        });
    }
}

/// Sums whose bits depend on the order of operands.
#[test]
fn same_algorithm_same_bits_on_every_member_and_in_every_run() {
    let n = 300;
    for size in [3, 4, 7] {
        let value = |m: usize, i: usize| 1.0 / (1 + m * n + i) as f64 * if m.is_multiple_of(2) { 1e8 } else { 1.0 };
        for &choice in Collective::Reduce.choices() {
            let runs: Vec<Vec<u64>> = (0..3)
                .map(|_| {
                    let (a, b) = (Array::<f64>::new(size, n), Array::<f64>::new(size, n));
                    run(size, |member| {
                        let me = member.me;
                        for (i, x) in a.of(me).iter_mut().enumerate() {
                            *x = value(me, i);
                        }
                        let decisions = decisions(choice, Collective::Barrier.choices()[0]);
                        let n = if choice.algorithm == Algorithm::Eager { EAGER / 8 } else { n };
                        // SAFETY: the arrays are long enough; all members call this.
                        unsafe {
                            reduce(
                                &member.group(&decisions),
                                b.addresses(me).bytes(),
                                a.addresses(me).bytes(),
                                n,
                                Operator::of::<f64, Sum>(),
                            );
                        }
                    });
                    let bits = |m: usize| b.of(m).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    if choice.algorithm != Algorithm::Bruck {
                        assert!((1..size).all(|m| bits(m) == bits(0)), "{choice}");
                    }
                    (0..size).flat_map(bits).collect()
                })
                .collect();
            assert!(runs.iter().all(|r| *r == runs[0]), "{choice}, {size} members");
        }
    }
}

/// Bytes read and written by each member of `size` in a sum of `n` doubles.
fn traffic(size: usize, n: usize, choice: Choice, barrier: Algorithm) -> Vec<(usize, usize)> {
    let (a, b) = (Array::<f64>::new(size, n), Array::<f64>::new(size, n));
    let counted: Vec<_> = (0..size).map(|_| std::sync::Mutex::new((0, 0))).collect();
    run(size, |member| {
        let decisions = decisions(choice, Choice::direct(barrier));
        let group = member.group(&decisions);
        // SAFETY: the arrays are long enough; all members call this.
        unsafe {
            reduce(
                &group,
                b.addresses(member.me).bytes(),
                a.addresses(member.me).bytes(),
                n,
                Operator::of::<f64, Sum>(),
            );
        };
        *counted[member.me].lock().unwrap() = group.traffic().total();
    });
    counted.into_iter().map(|c| c.into_inner().unwrap()).collect()
}

#[test]
fn bytes_moved_are_those_of_the_formulas() {
    use Algorithm::{Bruck, Central, Dissemination, Eager, Flat, Rabenseifner, RecursiveDoubling, Slices};
    let n = 1 << 10;
    let bytes = n * 8;
    for k in 1..=4 {
        let p = 1usize << k;
        let with = |algorithm, form, barrier| {
            let choice = Choice { algorithm, form };
            traffic(p, n, choice, barrier)
        };
        let of = |algorithm, form| with(algorithm, form, Dissemination);

        // Each PE reads its part of p sources and writes its part of p destinations.
        assert_eq!(of(Slices, Form::Direct), vec![(bytes, bytes); p]);

        // Member 0 does all of it.
        let flat = of(Flat, Form::Direct);
        assert_eq!(flat[0], (p * bytes, p * bytes));
        assert_eq!(flat[1..], vec![(0, 0); p - 1]);
        // dest = source; p - 1 gets, each combined; p - 1 puts.
        let flat = of(Flat, Form::PutGet);
        let reads = 1 + (p - 1) + 2 * (p - 1) + (p - 1);
        assert_eq!(flat[0], (reads * bytes, (reads - (p - 1)) * bytes));

        // Each of a pair reads a half of two and writes a half of two, in each round; where PEs
        // outnumber cores, the left one does it all.
        let each = (k * bytes, k * bytes);
        assert_eq!(of(RecursiveDoubling, Form::Direct), vec![each; p]);
        let left = with(RecursiveDoubling, Form::Direct, Central);
        for (me, moved) in left.into_iter().enumerate() {
            let lefts = k - me.count_ones() as usize;
            assert_eq!(moved, (2 * lefts * bytes, 2 * lefts * bytes));
        }
        // dest = source; in each round a get, and a combination of two.
        let each = ((1 + 3 * k) * bytes, (1 + 2 * k) * bytes);
        assert_eq!(of(RecursiveDoubling, Form::PutGet), vec![each; p]);

        // Two read in each round, and a copy in all but the first, whose result does not
        // replace what others read.
        let each = ((3 * k - 1) * bytes, (2 * k - 1) * bytes);
        assert_eq!(of(Bruck, Form::Direct), vec![each; p]);
        assert_eq!(of(Bruck, Form::PutGet), vec![(3 * k * bytes, 2 * k * bytes); p]);

        // Halving but for the last round: 2 parts read, 1 written. Then a half of two is read and
        // written, or by the left one all of them. Then the gathering: what it has, to another.
        let part = |round: usize| bytes >> round;
        let halving: usize = (1..k).map(part).sum();
        let gathering: usize = (1..k).map(part).sum();
        let moved = |middle: usize| (2 * halving + middle + gathering, halving + middle + gathering);
        let each = moved(part(k - 1));
        assert_eq!(of(Rabenseifner, Form::Direct), vec![each; p]);
        let left = with(Rabenseifner, Form::Direct, Central);
        for (me, counted) in left.into_iter().enumerate() {
            let middle = if me.is_multiple_of(2) { 2 * part(k - 1) } else { 0 };
            assert_eq!(counted, moved(middle), "{p} PEs, PE {me}");
        }
        // (p - 1)/p·n in each phase: got, combined, put.
        let all = bytes - bytes / p;
        assert_eq!(of(Rabenseifner, Form::PutGet), vec![(4 * all, 3 * all); p]);
    }

    // By the central barrier the last to arrive does what member 0 else does.
    let mut flat = traffic(4, n, Choice::direct(Flat), Central);
    flat.sort_unstable();
    assert_eq!(flat, [(0, 0), (0, 0), (0, 0), (4 * bytes, 4 * bytes)]);

    // Eager: each member copies n; then either each reduces all, or one does and all copy.
    let (p, n) = (4, EAGER / 8);
    let eager = traffic(p, n, Choice::direct(Eager), Dissemination);
    assert_eq!(eager, vec![(EAGER + p * EAGER, 2 * EAGER); p]);
    let mut eager = traffic(p, n, Choice::direct(Eager), Central);
    eager.sort_unstable();
    assert_eq!(eager[..p - 1], vec![(2 * EAGER, 2 * EAGER); p - 1]);
    assert_eq!(eager[p - 1], (2 * EAGER + p * EAGER, 3 * EAGER));

    // In the cache lines of flags: its own in and out, two per round.
    let each = ((1 + 2 * 2 + 1) * 56, (1 + 2 + 1) * 56);
    let lines = traffic(4, 7, Choice::direct(RecursiveDoubling), Dissemination);
    assert_eq!(lines, vec![each; 4]);
}

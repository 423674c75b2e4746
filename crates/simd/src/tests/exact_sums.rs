//! Sums that are rounded once: the right ones, whatever the order.

use fastrand::Rng;

use super::two_to;
use crate::exact::Term;
use crate::level::forced;
use crate::ops::{Max, Min, Sum};
use crate::superaccumulator::Superaccumulator;
use crate::{Complex, Reduce};

/// The exact fold of rows of equal length.
fn fold_exact<T: Reduce<Op>, Op>(rows: &[Vec<T>]) -> Vec<T> {
    let mut result = rows[0].clone();
    let dest = result.as_mut_ptr();
    // SAFETY: all rows are of one length, and the result is by itself.
    unsafe {
        T::fold_exact((&|_| dest, 1), (&|k| rows[k].as_ptr(), rows.len()), result.len(), false);
    }
    result
}

fn slow<T: Term>(terms: impl Iterator<Item = T>) -> T {
    let mut sum = Superaccumulator::new();
    terms.for_each(|term| sum.add(term.widen()));
    sum.round()
}

/// Sums each column of `rows` in many orders, and says what the sums are.
fn sums_in_any_order<T>(rows: &[Vec<T>], random: &mut Rng) -> Vec<T>
where
    T: Term + Reduce<Sum> + Reduce<Max> + Reduce<Min> + Bits,
{
    let sums = fold_exact::<T, Sum>(rows);
    for (i, sum) in sums.iter().enumerate() {
        let again = slow(rows.iter().map(|row| row[i]));
        let column: Vec<T> = rows.iter().map(|row| row[i]).collect();
        assert_eq!(sum.bits(), again.bits(), "{sum:?} is not {again:?}: {column:?}");
    }
    let maxima = fold_exact::<T, Max>(rows);
    let minima = fold_exact::<T, Min>(rows);
    let mut rows = rows.to_vec();
    for _ in 0..3 {
        random.shuffle(&mut rows);
        forced::each(|_| {
            assert_eq!(bits(&fold_exact::<T, Sum>(&rows)), bits(&sums));
            assert_eq!(bits(&fold_exact::<T, Max>(&rows)), bits(&maxima));
            assert_eq!(bits(&fold_exact::<T, Min>(&rows)), bits(&minima));
        });
    }
    sums
}

/// Numbers to be compared by their bits.
trait Bits: Copy + std::fmt::Debug {
    fn bits(self) -> u64;
    fn from_f64(x: f64) -> Self;
}

impl Bits for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn from_f64(x: f64) -> Self {
        x
    }
}

impl Bits for f32 {
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn from_f64(x: f64) -> Self {
        x as Self
    }
}

fn bits<T: Bits>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|x| x.bits()).collect()
}

/// Rows of numbers as `make` makes them.
fn rows<T>(count: usize, n: usize, mut make: impl FnMut() -> T) -> Vec<Vec<T>> {
    (0..count).map(|_| (0..n).map(|_| make()).collect()).collect()
}

/// Multiples of 2^-40 that fit into `digits` digits are summed as integers.
macro_rules! against_integers {
    ($name:ident, $t:ty, $digits:expr) => {
        #[test]
        fn $name() {
            let mut random = Rng::with_seed(7);
            for count in [1, 2, 3, 4, 8, 9, 17, 64] {
                for n in [1, 2, 3, 7, 8, 9, 33, 600] {
                    // Integers of few digits at random places, so that sums need many.
                    let integers = rows(count, n, || {
                        let digits = random.u64(..) as i64 >> (64 - $digits);
                        i128::from(digits) << random.usize(..60)
                    });
                    let scale = two_to(-40);
                    let float = |x: &i128| (*x as f64 * scale) as $t;
                    let floats: Vec<Vec<$t>> = integers.iter().map(|row| row.iter().map(float).collect()).collect();
                    let sums = sums_in_any_order(&floats, &mut random);
                    for (i, sum) in sums.iter().enumerate() {
                        let integer: i128 = integers.iter().map(|row| row[i]).sum();
                        // Multiplying by a power of two does not round.
                        let expected = integer as $t * scale as $t;
                        assert_eq!(*sum, expected, "{:?}", floats.iter().map(|row| row[i]));
                    }
                }
            }
        }
    };
}
against_integers!(doubles_are_as_integers, f64, 53);
against_integers!(floats_are_as_integers, f32, 24);

/// Any bits at all: subnormal numbers, the greatest, infinities, NaNs.
#[test]
fn any_numbers() {
    let mut random = Rng::with_seed(5);
    for count in [2, 3, 10, 40] {
        let doubles = rows(count, 700, || f64::from_bits(random.u64(..)));
        sums_in_any_order(&doubles, &mut random);
        let floats = rows(count, 700, || f32::from_bits(random.u64(..) as u32));
        sums_in_any_order(&floats, &mut random);
        // Few exponents, at either end of the range.
        for exponents in [0, 1, 0x7fc] {
            let doubles = rows(count, 700, || {
                let bits = random.u64(..);
                let exponent = exponents + (bits >> 52 & 3);
                f64::from_bits(bits & !(0x7ff << 52) | exponent << 52)
            });
            sums_in_any_order(&doubles, &mut random);
        }
    }
}

/// Terms that cancel but for one: the sum is that one.
#[test]
fn cancellation() {
    let mut random = Rng::with_seed(3);
    let finite = |random: &mut Rng| loop {
        let x = f64::from_bits(random.u64(..));
        if x.is_finite() {
            return x;
        }
    };
    for pairs in [1, 2, 5, 20] {
        for _ in 0..50 {
            let rest = finite(&mut random);
            let mut column = vec![vec![rest]];
            for _ in 0..pairs {
                let x = finite(&mut random);
                column.extend([vec![x], vec![-x]]);
            }
            assert_eq!(sums_in_any_order(&column, &mut random), [rest]);
        }
    }
}

fn sum_of<T: Bits + Term + Reduce<Sum> + Reduce<Max> + Reduce<Min>>(terms: &[f64]) -> T {
    let column: Vec<Vec<T>> = terms.iter().map(|x| vec![T::from_f64(*x)]).collect();
    sums_in_any_order(&column, &mut Rng::with_seed(1))[0]
}

#[test]
fn signs_of_zero() {
    for (terms, expected) in [
        (&[-0.0, -0.0, -0.0][..], -0.0),
        (&[-0.0], -0.0),
        (&[0.0, -0.0], 0.0),
        (&[1.0, -1.0], 0.0),
        (&[1.0, -1.0, -0.0], 0.0),
        (&[1e20, 1.0, -1e20, -1.0], 0.0),
    ] {
        assert_eq!(sum_of::<f64>(terms).bits(), f64::bits(expected), "{terms:?}");
        assert_eq!(sum_of::<f32>(terms).bits(), f32::bits(expected as f32));
    }
}

#[test]
fn infinities_and_nans() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (terms, expected) in [
        (&[inf, 1.0, 2.0][..], inf),
        (&[-inf, f64::MAX, f64::MAX], -inf),
        (&[inf, inf], inf),
        (&[inf, -inf, 1.0], nan),
        (&[-nan, 1.0], nan),
        (&[nan, inf, -inf], nan),
        (&[f64::MAX, f64::MAX], inf),
        (&[-f64::MAX, -f64::MAX, 1.0], -inf),
        // Half a unit in the last place more than the greatest number is a tie.
        (&[f64::MAX, two_to(970)], inf),
        (&[f64::MAX, two_to(970), -f64::MIN_POSITIVE], f64::MAX),
        // Only partial sums are too great.
        (&[f64::MAX, f64::MAX, -f64::MAX], f64::MAX),
        (&[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX], 0.0),
    ] {
        assert_eq!(sum_of::<f64>(terms).bits(), expected.bits(), "{terms:?}");
    }
    let max = f64::from(f32::MAX);
    for (terms, expected) in [
        (&[max, max][..], f32::INFINITY),
        (&[max, max, -max], f32::MAX),
        (&[max, two_to(103)], f32::INFINITY),
        (&[max, two_to(103), -two_to(-149)], f32::MAX),
        (&[inf, -inf], f32::NAN),
        (&[nan, 1.0], f32::NAN),
    ] {
        assert_eq!(sum_of::<f32>(terms).bits(), expected.bits(), "{terms:?}");
    }
}

/// Ties go to even numbers, and the least bit far below decides them.
#[test]
fn ties() {
    let ulp = f64::EPSILON;
    for sign in [1.0, -1.0] {
        for (terms, expected) in [
            (&[1.0, ulp / 2.0][..], 1.0),
            (&[1.0 + ulp, ulp / 2.0], 1.0 + 2.0 * ulp),
            (&[1.0, ulp / 2.0, 5e-324], 1.0 + ulp),
            (&[1.0 + ulp, ulp / 2.0, -5e-324], 1.0 + ulp),
            (&[1.0, -ulp / 4.0], 1.0),
            (&[1.0, -ulp / 4.0, -5e-324], 1.0 - ulp / 2.0),
            (&[5e-324, 5e-324], 1e-323),
            (&[f64::MIN_POSITIVE, -5e-324], f64::MIN_POSITIVE - 5e-324),
        ] {
            let terms: Vec<f64> = terms.iter().map(|x| sign * x).collect();
            assert_eq!(sum_of::<f64>(&terms), sign * expected, "{terms:?}");
        }
    }
    // In double precision these are 1 + 2^-24 exactly, or less: rounded twice, they were a tie.
    let (half, little) = (two_to(-24), two_to(-80));
    assert_eq!(sum_of::<f32>(&[1.0, half]), 1.0);
    assert_eq!(sum_of::<f32>(&[1.0, half, little]), 1.0 + f32::EPSILON);
    assert_eq!(sum_of::<f32>(&[1.0, half, -little]), 1.0);
    assert_eq!(sum_of::<f32>(&[1.0 + 2.0 * half, half, -little]), 1.0 + f32::EPSILON);
}

#[test]
fn maxima_and_minima_do_not_depend_on_order() {
    let column = |terms: &[f64]| -> Vec<Vec<f64>> { terms.iter().map(|x| vec![*x]).collect() };
    let max = |terms| fold_exact::<f64, Max>(&column(terms))[0].bits();
    let min = |terms| fold_exact::<f64, Min>(&column(terms))[0].bits();
    assert_eq!(max(&[-0.0, 0.0]), max(&[0.0, -0.0]));
    assert_eq!(max(&[-0.0, 0.0]), (0.0).bits());
    assert_eq!(min(&[0.0, -0.0]), (-0.0).bits());
    assert_eq!(max(&[1.0, f64::NAN, 2.0]), f64::NAN.bits());
    assert_eq!(min(&[1.0, -f64::NAN, 2.0]), f64::NAN.bits());
    assert_eq!(max(&[1.0, f64::INFINITY]), f64::INFINITY.bits());
    assert_eq!(min(&[3.0, -1.0, 2.0]), (-1.0).bits());
}

#[test]
fn parts_of_complex_numbers() {
    let mut random = Rng::with_seed(11);
    let numbers = rows(5, 300, || Complex { re: f64::from_bits(random.u64(..)), im: f64::from_bits(random.u64(..)) });
    let sums = fold_exact::<Complex<f64>, Sum>(&numbers);
    for (i, sum) in sums.iter().enumerate() {
        let (re, im) = (numbers.iter().map(|row| row[i].re), numbers.iter().map(|row| row[i].im));
        assert_eq!(sum.re.bits(), slow(re).bits());
        assert_eq!(sum.im.bits(), slow(im).bits());
    }
}

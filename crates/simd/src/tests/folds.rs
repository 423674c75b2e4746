//! Every operator on every type against the same written plainly, at every level.

use fastrand::Rng;

use super::two_to;
use crate::level::forced;
use crate::ops::{And, Max, Min, Or, Prod, Sum, Xor};
use crate::{Complex, Reduce};

/// Plain data whose values can be made from random bits.
trait Sample: Copy + 'static {
    fn from_random(bits: u64) -> Self;

    /// Whether the values have the same bits, or are NaNs: which NaN is not promised.
    fn same(self, other: Self) -> bool;
}

macro_rules! integers {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn from_random(bits: u64) -> Self {
                // Extremes and small numbers too.
                match bits % 8 {
                    0 => Self::MAX,
                    1 => Self::MIN,
                    2 => (bits >> 61) as Self,
                    _ => (bits >> 3) as Self,
                }
            }

            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl Sample for $t {
            fn from_random(bits: u64) -> Self {
                match bits % 32 {
                    0 => 0.0,
                    1 => -0.0,
                    2 => Self::INFINITY,
                    3 => Self::NAN,
                    _ => (bits as i64 as Self) * two_to((bits % 100) as i32 - 80) as Self,
                }
            }

            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
}
floats!(f32, f64);

impl<T: Sample> Sample for Complex<T> {
    fn from_random(bits: u64) -> Self {
        Self { re: T::from_random(bits), im: T::from_random(bits.rotate_left(32)) }
    }

    fn same(self, other: Self) -> bool {
        self.re.same(other.re) && self.im.same(other.im)
    }
}

/// A case: arrays by number, and which destinations are which sources.
#[derive(Debug)]
struct Case {
    n: usize,
    count: usize,
    /// For each destination, the source that it is, if any.
    aliases: Vec<Option<usize>>,
    streaming: bool,
    /// Elements before the first one of each array.
    skip: usize,
}

impl Case {
    fn random(random: &mut Rng, n: usize) -> Self {
        // Long arrays are few: they take most of the time.
        let count = 1 + random.usize(..if n < 1000 { 20 } else { 6 });
        let dests = 1 + random.usize(..7);
        let mut numbers: Vec<usize> = (0..count).collect();
        random.shuffle(&mut numbers);
        let in_place = random.usize(..3);
        let alias = |d: usize| match in_place {
            0 => None,
            1 => numbers.get(d).copied(),
            // As in a reduction of all PEs.
            _ => (d < count).then_some(d),
        };
        Self {
            n,
            count,
            aliases: (0..dests).map(alias).collect(),
            streaming: random.usize(..2) == 0,
            skip: random.usize(..9),
        }
    }
}

/// Elements behind each array that must stay as they are.
const GUARD: usize = 9;

fn same_values<T: Sample>(a: &[T], b: &[T]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(*b))
}

/// Runs a case, with `fold` or `fold_exact`, against `reference` in the sources' order.
fn check<T: Sample + Reduce<Op>, Op>(case: &Case, random: &mut Rng, exact: bool, reference: impl Fn(T, T) -> T) {
    let len = case.skip + case.n + GUARD;
    let mut array = || -> Vec<T> { (0..len).map(|_| T::from_random(random.u64(..))).collect() };
    let mut arrays: Vec<Vec<T>> = (0..case.count).map(|_| array()).collect();
    let mut positions = Vec::new();
    for alias in &case.aliases {
        positions.push(alias.unwrap_or(arrays.len()));
        if alias.is_none() {
            arrays.push(array());
        }
    }
    let mut expected = arrays.clone();
    for i in case.skip..case.skip + case.n {
        let terms = arrays[..case.count].iter().map(|source| source[i]);
        let result = terms.reduce(&reference).unwrap();
        for place in &positions {
            expected[*place][i] = result;
        }
    }

    let starts: Vec<*mut T> = arrays.iter_mut().map(|array| array[case.skip..].as_mut_ptr()).collect();
    let dest = |k: usize| starts[positions[k]];
    let source = |k: usize| starts[k].cast_const();
    let (dests, sources) = ((&dest as _, positions.len()), (&source as _, case.count));
    // SAFETY: all arrays have that many elements; destinations are sources or by themselves.
    unsafe {
        if exact {
            T::fold_exact(dests, sources, case.n, case.streaming);
        } else {
            T::fold(dests, sources, case.n, case.streaming);
        }
    }
    for (array, expected) in arrays.iter().zip(&expected) {
        assert!(
            same_values(array, expected),
            "{} of {}: {case:?}",
            std::any::type_name::<Op>(),
            std::any::type_name::<T>()
        );
    }
}

/// `combine` with every promised alias.
fn check_combine<T: Sample + Reduce<Op>, Op>(n: usize, random: &mut Rng, reference: impl Fn(T, T) -> T) {
    for (dest, a, b) in [(2, 0, 1), (0, 0, 1), (1, 0, 1), (2, 0, 0), (0, 0, 0)] {
        let mut array = || -> Vec<T> { (0..n + GUARD).map(|_| T::from_random(random.u64(..))).collect() };
        let mut arrays = [array(), array(), array()];
        let mut expected = arrays.clone();
        for i in 0..n {
            expected[dest][i] = reference(arrays[a][i], arrays[b][i]);
        }
        let starts = arrays.each_mut().map(|array| array.as_mut_ptr());
        // SAFETY: all arrays have that many elements.
        unsafe { T::combine(starts[dest], starts[a], starts[b], n) };
        for (array, expected) in arrays.iter().zip(&expected) {
            assert!(same_values(array, expected), "{n} {dest} {a} {b}");
        }
    }
}

fn check_all<T: Sample + Reduce<Op>, Op>(reference: impl Fn(T, T) -> T + Copy) {
    forced::each(|_| {
        let mut random = Rng::with_seed(0x1234_5678_9abc_def1);
        for n in (0..70).chain([127, 1000, 3000, 9001]) {
            for _ in 0..if n < 70 { 3 } else { 1 } {
                let case = Case::random(&mut random, n);
                check::<T, Op>(&case, &mut random, false, reference);
                if T::ANY_ORDER {
                    check::<T, Op>(&case, &mut random, true, reference);
                }
            }
            check_combine::<T, Op>(n, &mut random, reference);
        }
    });
}

macro_rules! operators {
    ($($name:ident: $op:ty, [$($t:ty),*], $reference:expr;)*) => {$(
        #[test]
        fn $name() {
            $(check_all::<$t, $op>($reference);)*
        }
    )*};
}

operators! {
    and: And, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a & b;
    or: Or, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a | b;
    xor: Xor, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a ^ b;
    max: Max, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a.max(b);
    min: Min, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a.min(b);
    sum: Sum, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a.wrapping_add(b);
    prod: Prod, [i8, i16, i32, i64, isize, u8, u16, u32, u64, usize], |a, b| a.wrapping_mul(b);
    float_max: Max, [f32, f64], |a, b| if b > a { b } else { a };
    float_min: Min, [f32, f64], |a, b| if b < a { b } else { a };
    float_sum: Sum, [f32, f64], |a, b| a + b;
    float_prod: Prod, [f32, f64], |a, b| a * b;
    complex_sum: Sum, [Complex<f32>, Complex<f64>], |a, b| Complex {
        re: a.re + b.re,
        im: a.im + b.im,
    };
    complex_prod: Prod, [Complex<f32>, Complex<f64>], |a, b| Complex {
        re: a.re * b.re - a.im * b.im,
        im: a.re * b.im + a.im * b.re,
    };
}

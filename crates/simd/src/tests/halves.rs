use fastrand::Rng;

use crate::half::Half;
use crate::level::forced;
use crate::ops::{Max, Min, Prod, Sum};
use crate::{Bf16, F16, Operator, Reduce};

/// Every number of 16 bits is itself, and a number between two is the nearer one, or the even one.
fn rounds<T: Half + PartialEq + std::fmt::Debug>(of_bits: fn(u16) -> T, infinity: u16) {
    for bits in 0..infinity {
        let (low, high) = (of_bits(bits).widen(), of_bits(bits + 1).widen());
        // Infinity stands for the power of two behind the greatest number.
        let step = if high.is_finite() { high - low } else { low - of_bits(bits - 1).widen() };
        let middle = low + step / 2.0;
        assert!(low < high && middle.is_finite(), "{bits:#x}");
        let even = of_bits(bits + bits % 2);
        let sides = [(low, of_bits(bits)), (middle, even), (middle.next_down().max(low), of_bits(bits))];
        let above = [(middle.next_up(), of_bits(bits + 1)), (low.next_up().min(middle.next_down()), of_bits(bits))];
        let below = (low.next_down().max(0.0), of_bits(bits));
        for (number, expected) in sides.into_iter().chain(above).chain([below]) {
            assert_eq!(T::round(number), expected, "{number:e}");
            let negative = T::round(-number).widen();
            assert_eq!(negative.to_bits(), (-expected.widen()).to_bits(), "{number:e}");
        }
    }
    assert!(T::round(f32::NAN).widen().is_nan() && of_bits(infinity + 1).widen().is_nan());
    assert_eq!(T::round(f32::INFINITY), of_bits(infinity));
    assert_eq!(of_bits(infinity).widen(), f32::INFINITY);
}

#[test]
fn numbers_are_rounded_to_the_nearest() {
    rounds(F16, 0x7c00);
    rounds(Bf16, 0x7f80);
}

/// The operator computes as `float` does, and rounds once.
fn folds<T: Half + Reduce<Op> + PartialEq + std::fmt::Debug, Op>(combine: fn(f32, f32) -> f32) {
    const SOURCES: usize = 37;
    let operator = Operator::of::<T, Op>();
    for n in [1, 7, 64, 2500] {
        let mut random = Rng::with_seed(n as u64);
        let mut number = || T::round((random.u64(..) % 2001) as f32 / 1000.0 + 0.25);
        let arrays: Vec<Vec<T>> = (0..SOURCES).map(|_| (0..n).map(|_| number()).collect()).collect();
        let right = |count: usize, i: usize| {
            let operands = arrays[..count].iter().map(|array| array[i].widen());
            T::round(operands.reduce(combine).unwrap())
        };
        let mut dests = [vec![arrays[0][0]; n], vec![arrays[0][0]; n]];
        for streaming in [false, true] {
            let to = dests.each_mut().map(|dest| dest.as_mut_ptr().cast());
            let from = |k: usize| arrays[k].as_ptr().cast();
            // SAFETY: all arrays have `n` elements.
            unsafe { operator.fold(false, (&|k| to[k], 2), (&from, SOURCES), n, streaming) };
            assert!(dests.iter().all(|dest| (0..n).all(|i| dest[i] == right(SOURCES, i))), "{n} elements");
        }
        let mut both = arrays[0].clone();
        let to = both.as_mut_ptr().cast::<u8>();
        // SAFETY: as above; the destination is one of the operands.
        unsafe { (operator.combine)(to, to, arrays[1].as_ptr().cast(), n) };
        assert!((0..n).all(|i| both[i] == right(2, i)), "{n} elements");
    }
    assert!(!operator.commutes && operator.size() == 2);
}

#[test]
fn results_are_rounded_once() {
    forced::each(|_| {
        folds::<F16, Sum>(|a, b| a + b);
        folds::<Bf16, Sum>(|a, b| a + b);
        folds::<F16, Prod>(|a, b| a * b);
        folds::<Bf16, Prod>(|a, b| a * b);
        folds::<F16, Min>(f32::min);
        folds::<Bf16, Max>(f32::max);
    });
}

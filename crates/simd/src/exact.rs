//! Sums that are rounded once, so that they do not depend on the order of their terms.
//!
//! A sum in double precision, and the sum of its rounding errors, which are themselves numbers
//! of that precision (D. Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B),
//! are nearly always so close to the true sum that only one number can be its rounded value.
//! Where that is not certain, the terms are added again in a
//! [superaccumulator](super::superaccumulator). Both ways give the true sum rounded to
//! nearest, so the result does not show which way was taken.
//!
//! This holds in the default floating-point environment: rounding to nearest, subnormal
//! numbers not flushed to zero.

use std::mem::MaybeUninit;

use super::fold::{Dests, Sources, spread};
use super::level::{self, ElementLoop};
use super::superaccumulator::{Format, Superaccumulator};
use super::vector::{Vector, lanes, stream_fence};

/// Elements summed at a time: few enough for the first-level cache.
const BLOCK: usize = 512;
/// Sources added at a time.
const GROUP: usize = 8;

/// [`Reduce::fold_exact`](super::Reduce::fold_exact) of a sum.
///
/// # Safety
/// As for `fold_exact`.
pub(super) unsafe fn sum<T: Term>(dests: Dests<u8>, (source, count): Sources<u8>, n: usize, streaming: bool) {
    let mut partial = Partial::new();
    let mut sums = [const { MaybeUninit::<T>::uninit() }; BLOCK];
    let mut exact = None;
    for start in (0..n).step_by(BLOCK) {
        let n = BLOCK.min(n - start);
        let source = |k| source(k).cast::<T>().wrapping_add(start);
        for first in (0..count).step_by(GROUP) {
            let mut terms = [std::ptr::null(); GROUP];
            let terms = &mut terms[..GROUP.min(count - first)];
            for (k, term) in terms.iter_mut().enumerate() {
                *term = source(first + k);
            }
            level::dispatch(Add { partial: &mut partial, first: first == 0, terms, n });
        }
        let sums = &mut sums[..n];
        let certain = level::dispatch(RoundBlock { partial: &partial, sums });
        if !certain {
            let exact = exact.get_or_insert_with(Superaccumulator::new);
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: the loop over the sources has set the first `n` sums, and `i` is less.
                if unsafe { !partial.round::<T>(i).1 } {
                    exact.clear();
                    for k in 0..count {
                        // SAFETY: the caller promises that each source is readable for its
                        // elements.
                        exact.add(unsafe { source(k).add(i).read() }.widen());
                    }
                    sum.write(exact.round());
                }
            }
        }
        let (at, bytes) = (start * size_of::<T>(), size_of_val(sums));
        // SAFETY: `RoundBlock` wrote all `n` sums, and the caller promises that the destinations are
        // writable for all elements.
        unsafe { spread(sums.as_ptr().cast(), dests, at, bytes, streaming) };
    }
    if streaming {
        stream_fence();
    }
}

/// As [`sum`], of real and imaginary parts separately.
///
/// # Safety
/// As for `sum`.
pub(super) unsafe fn complex_sum<T: Term>(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
    // SAFETY: the caller promises arrays of `n` complex numbers, which are twice as many parts.
    unsafe { sum::<T>(dests, sources, 2 * n, streaming) }
}

/// A type of terms.
pub(super) trait Term: Format {
    /// The same number in double precision.
    fn widen(self) -> f64;

    /// Loads as many numbers as the register has lanes of double precision.
    ///
    /// # Safety
    /// `from` is readable for that many numbers. The machine has the register.
    unsafe fn load<V: Vector>(from: *const Self) -> V;

    /// The rounded sum, and whether that is certain.
    ///
    /// The true sum differs from `sum + errors` by less than twice `lost`, and not at all if
    /// that is zero.
    fn round(sum: f64, errors: f64, lost: f64) -> (Self, bool);
}

impl Term for f64 {
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller promises that `from` is readable for a register.
        unsafe { from.cast::<V>().read_unaligned() }
    }

    #[inline(always)]
    fn round(sum: f64, errors: f64, lost: f64) -> (Self, bool) {
        // SAFETY: `f64` is a register that every machine has.
        let (rounded, rest) = unsafe { two_sum(sum, errors) };
        // Rounding is monotonic: if both ends of an interval round to one number, so do all
        // numbers in it. The interval allows for the rounding errors of its ends. NaNs are never
        // equal.
        let margin = 4.0 * lost + rest.abs() * (2.0 * f64::EPSILON);
        let ends = (rounded + (rest - margin), rounded + (rest + margin));
        let certain = lost == 0.0 || ends == (rounded, rounded);
        // Without errors, the sum has the right sign even if it is zero.
        (if errors == 0.0 { sum } else { rounded }, certain)
    }
}

impl Term for f32 {
    #[inline(always)]
    fn widen(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller promises that `from` is readable for the numbers that `widen` loads.
        unsafe { V::widen(from) }
    }

    #[inline(always)]
    fn round(sum: f64, errors: f64, lost: f64) -> (Self, bool) {
        // SAFETY: `f64` is a register that every machine has.
        let (middle, rest) = unsafe { two_sum(sum, errors) };
        // An interval around the true sum that allows for the rounding errors of its ends.
        let width = 4.0 * lost + middle.abs() * (4.0 * f64::EPSILON);
        let (low, high) = ((middle - width) as Self, (middle + width) as Self);
        if lost == 0.0 && rest == 0.0 {
            // `middle` is the true sum: nothing was rounded before.
            ((if errors == 0.0 { sum } else { middle }) as Self, true)
        } else {
            let same = low == high && low.is_sign_negative() == high.is_sign_negative();
            (low, same)
        }
    }
}

/// The sums of a block so far, the sums of their rounding errors, and the sums of the magnitudes
/// that those lost by rounding. Of each, as many are set as the block has elements.
struct Partial {
    sums: [MaybeUninit<f64>; BLOCK],
    errors: [MaybeUninit<f64>; BLOCK],
    losts: [MaybeUninit<f64>; BLOCK],
}

impl Partial {
    fn new() -> Self {
        Self {
            sums: [MaybeUninit::uninit(); BLOCK],
            errors: [MaybeUninit::uninit(); BLOCK],
            losts: [MaybeUninit::uninit(); BLOCK],
        }
    }

    /// Sum `i` rounded, and whether that is certain.
    ///
    /// # Safety
    /// Sum `i` is set.
    #[inline(always)]
    unsafe fn round<T: Term>(&self, i: usize) -> (T, bool) {
        // SAFETY: the caller promises that sum `i`, with its errors, is set.
        unsafe {
            let (sum, errors) = (self.sums[i].assume_init(), self.errors[i].assume_init());
            T::round(sum, errors, self.losts[i].assume_init())
        }
    }
}

/// Adds `n` elements of each array of terms to a block. The arrays are readable for `n`.
struct Add<'a, T> {
    partial: &'a mut Partial,
    /// No sums are set yet.
    first: bool,
    terms: &'a [*const T],
    n: usize,
}

impl<T: Term> ElementLoop for Add<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self) {
        let width = lanes::<V, f64>();
        let whole = self.n / width * width;
        for at in (0..whole).step_by(width) {
            // SAFETY: the register ends within the `n` elements.
            unsafe { self.add::<V>(at) };
        }
        for at in whole..self.n {
            // SAFETY: `at` is less than `n`.
            unsafe { self.add::<f64>(at) };
        }
    }
}

impl<T: Term> Add<'_, T> {
    /// Adds one register of each array of terms.
    ///
    /// # Safety
    /// The register begins at element `at` and ends within the `n` elements.
    #[inline(always)]
    unsafe fn add<V: Vector>(&mut self, at: usize) {
        let sums = self.partial.sums[at..].as_mut_ptr().cast::<V>();
        let errors = self.partial.errors[at..].as_mut_ptr().cast::<V>();
        let losts = self.partial.losts[at..].as_mut_ptr().cast::<V>();
        // SAFETY: the caller promises that the register ends within the `n` elements, for which
        // the terms are readable. The sums are set unless these are the first terms.
        unsafe {
            let zero: V = std::mem::zeroed();
            let (mut sum, mut error, mut lost, terms);
            if self.first {
                sum = T::load(self.terms[0].add(at));
                (error, lost) = (zero, zero);
                terms = &self.terms[1..];
            } else {
                sum = sums.read_unaligned();
                (error, lost) = (errors.read_unaligned(), losts.read_unaligned());
                terms = self.terms;
            }
            for term in terms {
                let (of_sum, of_error);
                (sum, of_sum) = two_sum::<V>(sum, T::load(term.add(at)));
                (error, of_error) = two_sum(error, of_sum);
                let magnitude = V::max_f64(of_error, V::sub_f64(zero, of_error));
                lost = V::add_f64(lost, magnitude);
            }
            sums.write_unaligned(sum);
            errors.write_unaligned(error);
            losts.write_unaligned(lost);
        }
    }
}

/// Rounds the sums of a block. Returns whether all of them are certain.
struct RoundBlock<'a, T> {
    partial: &'a Partial,
    sums: &'a mut [MaybeUninit<T>],
}

impl<T: Term> ElementLoop for RoundBlock<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self) -> bool {
        let mut all_certain = true;
        for (i, sum) in self.sums.iter_mut().enumerate() {
            // SAFETY: `sums` is as long as the block, whose sums are set.
            let (rounded, certain) = unsafe { self.partial.round(i) };
            sum.write(rounded);
            all_certain &= certain;
        }
        all_certain
    }
}

/// The rounded sums of two registers and their rounding errors, which are exact.
///
/// # Safety
/// The machine has the register.
#[inline(always)]
unsafe fn two_sum<V: Vector>(a: V, b: V) -> (V, V) {
    // SAFETY: the caller promises that the machine has the register.
    unsafe {
        let sum = V::add_f64(a, b);
        let b_part = V::sub_f64(sum, a);
        let a_error = V::sub_f64(a, V::sub_f64(sum, b_part));
        (sum, V::add_f64(a_error, V::sub_f64(b, b_part)))
    }
}

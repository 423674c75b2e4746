//! Sums that are rounded once, and so do not depend on the order of their terms.
//!
//! A sum in double precision, and the sum of its rounding errors, which are themselves numbers
//! of that precision (D. Knuth, The Art of Computer Programming, volume 2, 4.2.2, theorem B),
//! are nearly always so close to the true sum that only one number can be it, rounded. Where
//! that is not certain, the terms are added again in a
//! [superaccumulator](super::superaccumulator). Both ways give the true sum rounded to
//! nearest, so the result does not tell which was taken.
//!
//! This holds in the default floating-point environment: rounding to nearest, subnormal
//! numbers not flushed to zero.

use std::mem::MaybeUninit;

use super::fold::spread;
use super::level::{self, Work};
use super::ops::{Dests, Sources};
use super::superaccumulator::{Format, Superaccumulator};
use super::vector::{Vector, lanes, stream_fence};

/// Elements summed at a time: little enough for the first-level cache.
const BLOCK: usize = 512;
/// Sources taken at a time.
const GROUP: usize = 8;

/// [`Reduce::fold_exact`](super::Reduce::fold_exact) of a sum.
///
/// # Safety
/// As for `fold_exact`.
pub(super) unsafe fn sum<T: Term>(
    dests: Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
    streaming: bool,
) {
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
            level::run(Add {
                partial: &mut partial,
                first: first == 0,
                terms,
                n,
            });
        }
        let sums = &mut sums[..n];
        let certain = level::run(Settle {
            partial: &partial,
            sums,
        });
        if !certain {
            let exact = exact.get_or_insert_with(Superaccumulator::new);
            for (i, sum) in sums.iter_mut().enumerate() {
                // SAFETY: there are that many sums.
                if unsafe { !partial.settle::<T>(i).1 } {
                    exact.clear();
                    for k in 0..count {
                        // SAFETY: the caller's promise.
                        exact.add(unsafe { source(k).add(i).read() }.widen());
                    }
                    sum.write(exact.round());
                }
            }
        }
        let (at, bytes) = (start * size_of::<T>(), size_of_val(sums));
        // SAFETY: the caller's promise; all `n` sums are written.
        unsafe { spread(sums.as_ptr().cast(), dests, at, bytes, streaming) };
    }
    if streaming {
        stream_fence();
    }
}

/// As [`sum`], of real and imaginary parts by themselves.
///
/// # Safety
/// As for `sum`.
pub(super) unsafe fn complex_sum<T: Term>(
    dests: Dests<u8>,
    sources: Sources<u8>,
    n: usize,
    streaming: bool,
) {
    // SAFETY: the caller's promise; a complex number is two of its parts.
    unsafe { sum::<T>(dests, sources, 2 * n, streaming) }
}

/// A type of terms.
pub(super) trait Term: Format {
    /// The same number in double precision.
    fn widen(self) -> f64;

    /// The same of as many numbers as a register holds.
    ///
    /// # Safety
    /// `from` is valid for so many. The machine has the register.
    unsafe fn load<V: Vector>(from: *const Self) -> V;

    /// The rounded sum, and whether that is certain.
    ///
    /// The true sum differs from `sum + errors` by less than twice `lost`, and not at all if
    /// that is zero.
    fn settle(sum: f64, errors: f64, lost: f64) -> (Self, bool);
}

impl Term for f64 {
    #[inline(always)]
    fn widen(self) -> f64 {
        self
    }

    #[inline(always)]
    unsafe fn load<V: Vector>(from: *const Self) -> V {
        // SAFETY: the caller's promise.
        unsafe { from.cast::<V>().read_unaligned() }
    }

    #[inline(always)]
    fn settle(sum: f64, errors: f64, lost: f64) -> (Self, bool) {
        // SAFETY: every machine has doubles.
        let (rounded, rest) = unsafe { two_sum(sum, errors) };
        // Rounding is monotonic: what both ends of an interval round to, all numbers in it do.
        // The interval is wide enough for the roundings of its ends too. NaNs are never equal.
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
        // SAFETY: the caller's promise.
        unsafe { V::widen(from) }
    }

    #[inline(always)]
    fn settle(sum: f64, errors: f64, lost: f64) -> (Self, bool) {
        // SAFETY: every machine has doubles.
        let (middle, rest) = unsafe { two_sum(sum, errors) };
        // An interval around the true sum, wide enough as above.
        let width = 4.0 * lost + middle.abs() * (4.0 * f64::EPSILON);
        let (low, high) = ((middle - width) as Self, (middle + width) as Self);
        if lost == 0.0 && rest == 0.0 {
            // Nothing was rounded yet.
            ((if errors == 0.0 { sum } else { middle }) as Self, true)
        } else {
            let same = low == high && low.is_sign_negative() == high.is_sign_negative();
            (low, same)
        }
    }
}

/// The sums of a block so far, their rounding errors, and how much is lost of those. As many of
/// each are set as there are elements.
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

    /// # Safety
    /// Sum `i` is set.
    #[inline(always)]
    unsafe fn settle<T: Term>(&self, i: usize) -> (T, bool) {
        // SAFETY: the caller's promise.
        unsafe {
            let (sum, errors) = (self.sums[i].assume_init(), self.errors[i].assume_init());
            T::settle(sum, errors, self.losts[i].assume_init())
        }
    }
}

/// Adds terms to a block: `n` of each, valid elements.
struct Add<'a, T> {
    partial: &'a mut Partial,
    /// There are no sums yet.
    first: bool,
    terms: &'a [*const T],
    n: usize,
}

impl<T: Term> Work for Add<'_, T> {
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
            // SAFETY: as above.
            unsafe { self.add::<f64>(at) };
        }
    }
}

impl<T: Term> Add<'_, T> {
    /// Adds a register of each.
    ///
    /// # Safety
    /// It begins at element `at` and ends within the elements.
    #[inline(always)]
    unsafe fn add<V: Vector>(&mut self, at: usize) {
        let sums = self.partial.sums[at..].as_mut_ptr().cast::<V>();
        let errors = self.partial.errors[at..].as_mut_ptr().cast::<V>();
        let losts = self.partial.losts[at..].as_mut_ptr().cast::<V>();
        // SAFETY: the caller's promise; the sums are set unless these are the first terms.
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

/// Rounds the sums of a block. Returns whether all are certain.
struct Settle<'a, T> {
    partial: &'a Partial,
    sums: &'a mut [MaybeUninit<T>],
}

impl<T: Term> Work for Settle<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector>(self) -> bool {
        let mut all_certain = true;
        for (i, sum) in self.sums.iter_mut().enumerate() {
            // SAFETY: there are that many sums.
            let (rounded, certain) = unsafe { self.partial.settle(i) };
            sum.write(rounded);
            all_certain &= certain;
        }
        all_certain
    }
}

/// The sums of numbers and their rounding errors, exactly.
///
/// # Safety
/// The machine has the register.
#[inline(always)]
unsafe fn two_sum<V: Vector>(a: V, b: V) -> (V, V) {
    // SAFETY: the caller's promise.
    unsafe {
        let sum = V::add_f64(a, b);
        let b_part = V::sub_f64(sum, a);
        let a_error = V::sub_f64(a, V::sub_f64(sum, b_part));
        (sum, V::add_f64(a_error, V::sub_f64(b, b_part)))
    }
}

//! Operators of reductions and scans, and the types they apply to (standard, table
//! "Team-based reduction types"; bitwise operators on signed types are an extension that
//! other implementations have too).

use super::vector::{Combine, Vector};
use super::{exact, fold};

/// Bitwise and.
#[derive(Debug)]
pub enum And {}
/// Bitwise or.
#[derive(Debug)]
pub enum Or {}
/// Bitwise exclusive or.
#[derive(Debug)]
pub enum Xor {}
/// Maximum.
#[derive(Debug)]
pub enum Max {}
/// Minimum.
#[derive(Debug)]
pub enum Min {}
/// Sum; integers wrap.
#[derive(Debug)]
pub enum Sum {}
/// Product; integers wrap.
#[derive(Debug)]
pub enum Prod {}

/// Where the arrays of a reduction begin, by their number: a function and how many there are.
pub type Dests<'a, T> = (&'a dyn Fn(usize) -> *mut T, usize);
/// As [`Dests`], for arrays that are read.
pub type Sources<'a, T> = (&'a dyn Fn(usize) -> *const T, usize);

/// A type that operator `Op` reduces. Lengths are in elements.
///
/// # Safety
/// The type is plain data: any bytes of its size are a value, as other PEs write them.
pub unsafe trait Reduce<Op>: Copy + 'static {
    /// Whether the result has the same bits in whatever order operands are taken. True for
    /// integers. False for floating-point numbers, also maxima and minima: which of two zeros
    /// or NaNs is left depends on the order.
    const ANY_ORDER: bool;

    /// `dest[i] = a[i] op b[i]` for `n` elements.
    ///
    /// # Safety
    /// All are aligned and valid for `n` elements. `dest` may be the same as `a` or `b`, or
    /// both; otherwise it overlaps neither.
    unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize);

    /// For each element, `source(0)[i] op source(1)[i] op …` in that order, stored to every
    /// destination; with non-temporal stores if `streaming`, which are ordered before all later
    /// stores when it returns.
    ///
    /// # Safety
    /// There is at least one source and one destination. All are aligned and valid for `n`
    /// elements. Any destination may be the same as any source; otherwise none overlap.
    #[inline]
    unsafe fn fold(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        let dest = |k| dests.0(k).cast();
        let source = |k| sources.0(k).cast();
        // SAFETY: the caller's promise.
        unsafe { Self::fold_bytes((&dest, dests.1), (&source, sources.1), n, streaming) }
    }

    /// As [`fold`](Self::fold), but the result does not depend on the order of the sources,
    /// where the type allows it:
    ///
    /// - Types and operators with [`ANY_ORDER`](Self::ANY_ORDER): the same as `fold`.
    /// - Sums of `float` and `double`, also as parts of complex numbers: the true sum, rounded
    ///   once. Infinities and NaNs give what IEEE 754 says; a sum is infinite only if the true
    ///   sum is too great, not because a partial sum is.
    /// - Maxima and minima of `float` and `double`: -0 is less than +0, and if there is a NaN
    ///   among several sources, NaN is the result (IEEE 754-2019, 9.6, maximum and minimum).
    /// - Products of floating-point numbers, and `long double`: the sources' order, as `fold`.
    ///
    /// All NaNs that come of several sources have the same bits.
    ///
    /// WaitReason it costs, beside `fold` (double sums; Xeon with AVX-512): sources out of the caches
    /// are taken at 8 to 10 GB/s instead of 14; from the second-level cache at 17 to 22 GB/s
    /// instead of 70 to 130. Where a sum is so near the middle between two numbers that only
    /// all digits decide, about 100 ns for the element and 5 ns for each of its terms.
    ///
    /// # Safety
    /// As for `fold`.
    #[inline]
    unsafe fn fold_exact(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        let dest = |k| dests.0(k).cast();
        let source = |k| sources.0(k).cast();
        // SAFETY: the caller's promise.
        unsafe { Self::fold_exact_bytes((&dest, dests.1), (&source, sources.1), n, streaming) }
    }

    /// [`fold`](Self::fold) for callers that do not know the type of the elements, of which
    /// there are `n` in each array.
    ///
    /// # Safety
    /// As for `fold`.
    unsafe fn fold_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
        // SAFETY: the caller's promise.
        unsafe { fold::by_combine::<Self, Op>(dests, sources, n, streaming) }
    }

    /// [`fold_exact`](Self::fold_exact), as [`fold_bytes`](Self::fold_bytes).
    ///
    /// # Safety
    /// As for `fold_exact`.
    unsafe fn fold_exact_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
        // SAFETY: the caller's promise.
        unsafe { Self::fold_bytes(dests, sources, n, streaming) }
    }
}

/// A C complex number: real part, then imaginary part (C11 6.2.5).
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    /// Real part.
    pub re: T,
    /// Imaginary part.
    pub im: T,
}

type Complex32 = Complex<f32>;
type Complex64 = Complex<f64>;

/// Defines an operator on elements of some types; on registers, by the function after `as`.
macro_rules! combine {
    ($op:ty, [$($t:ty $(as $of_registers:ident)?),*], |$a:ident, $b:ident| $value:expr) => {$(
        impl Combine<$op> for $t {
            #[inline(always)]
            fn combine($a: Self, $b: Self) -> Self {
                $value
            }

            $(
                #[inline(always)]
                unsafe fn combine_lanes<V: Vector>(a: V, b: V) -> V {
                    // SAFETY: the caller's promise.
                    unsafe { V::$of_registers(a, b) }
                }
            )?
        }
    )*};
}

combine!(And, [u8, u16, u32, u64], |a, b| a & b);
combine!(Or, [u8, u16, u32, u64], |a, b| a | b);
combine!(Xor, [u8, u16, u32, u64], |a, b| a ^ b);
combine!(Sum, [u8, u16, u32, u64], |a, b| a.wrapping_add(b));
combine!(Prod, [u8, u16, u32, u64], |a, b| a.wrapping_mul(b));
combine!(Max, [i8, i16, i32, i64, u8, u16, u32, u64], |a, b| a.max(b));
combine!(Min, [i8, i16, i32, i64, u8, u16, u32, u64], |a, b| a.min(b));

combine! { Sum, [f32 as add_f32, f64 as add_f64], |a, b| a + b }
combine! { Prod, [f32 as mul_f32, f64 as mul_f64], |a, b| a * b }
// As C programs write it; which operand survives a NaN is left open by the standard.
combine! { Max, [f32 as max_f32, f64 as max_f64], |a, b| if b > a { b } else { a } }
combine! { Min, [f32 as min_f32, f64 as min_f64], |a, b| if b < a { b } else { a } }

combine! { Sum, [Complex32 as add_f32, Complex64 as add_f64], |a, b| Complex {
    re: a.re + b.re,
    im: a.im + b.im,
} }
combine! { Prod, [Complex32 as mul_complex_f32, Complex64 as mul_complex_f64], |a, b| Complex {
    re: a.re * b.re - a.im * b.im,
    im: a.re * b.im + a.im * b.re,
} }

/// Maximum in any order of the operands: NaN if there is one, and +0 rather than -0.
enum MaxOrNan {}
/// Minimum in any order of the operands: NaN if there is one, and -0 rather than +0.
enum MinOrNan {}

// Numbers that compare equal have the same bits, unless they are zeros, which have no bits but
// the sign. All three cases are computed for all numbers, so that vectors can be.
combine!(MaxOrNan, [f32, f64], |a, b| {
    let greater = if b > a { b } else { a };
    let equal = Self::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a == b { equal } else { greater };
    if a.is_nan() | b.is_nan() {
        Self::NAN
    } else {
        ordered
    }
});
combine!(MinOrNan, [f32, f64], |a, b| {
    let less = if b < a { b } else { a };
    let equal = Self::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a == b { equal } else { less };
    if a.is_nan() | b.is_nan() {
        Self::NAN
    } else {
        ordered
    }
});

/// Makes types reducible by an operator, each combined as a type of the same bytes, if order
/// matters with a function for exact folds.
macro_rules! reduce {
    ($any_order:literal, $op:ty, [$($t:ty as $r:ty),*], $exact:expr) => {$(
        // SAFETY: plain data.
        unsafe impl Reduce<$op> for $t {
            const ANY_ORDER: bool = $any_order;

            #[inline]
            unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize) {
                // SAFETY: the caller's promise.
                unsafe { fold::two::<$r, $op>(dest.cast(), a.cast(), b.cast(), n) }
            }

            unsafe fn fold_bytes(
                dests: Dests<u8>,
                sources: Sources<u8>,
                n: usize,
                streaming: bool,
            ) {
                const { assert!(size_of::<$t>() == size_of::<$r>()) };
                // SAFETY: the caller's promise.
                unsafe { fold::fold::<$r, $op>(dests, sources, n, streaming) }
            }

            unsafe fn fold_exact_bytes(
                dests: Dests<u8>,
                sources: Sources<u8>,
                n: usize,
                streaming: bool,
            ) {
                // SAFETY: the caller's promise.
                unsafe { $exact(dests, sources, n, streaming) }
            }
        }
    )*};
}

/// Makes integers reducible by operators, which commute. Where two's complement has the same
/// operation for numbers with and without sign, it is compiled once.
macro_rules! integers {
    ([$($op:ty),*], $types:tt) => {$(
        reduce!(true, $op, $types, <Self as Reduce<$op>>::fold_bytes);
    )*};
}

integers! {
    [And, Or, Xor, Sum, Prod],
    [
        i8 as u8, i16 as u16, i32 as u32, i64 as u64, isize as u64,
        u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as u64
    ]
}
integers! {
    [Max, Min],
    [
        i8 as i8, i16 as i16, i32 as i32, i64 as i64, isize as i64,
        u8 as u8, u16 as u16, u32 as u32, u64 as u64, usize as u64
    ]
}
reduce! { false, Max, [f32 as f32, f64 as f64], fold::fold::<Self, MaxOrNan> }
reduce! { false, Min, [f32 as f32, f64 as f64], fold::fold::<Self, MinOrNan> }
reduce! { false, Sum, [f32 as f32, f64 as f64], exact::sum::<Self> }
reduce! { false, Prod, [f32 as f32, f64 as f64], <Self as Reduce<Prod>>::fold_bytes }
reduce! { false, Sum, [Complex32 as Complex32], exact::complex_sum::<f32> }
reduce! { false, Sum, [Complex64 as Complex64], exact::complex_sum::<f64> }
reduce! {
    false, Prod,
    [Complex32 as Complex32, Complex64 as Complex64], <Self as Reduce<Prod>>::fold_bytes
}

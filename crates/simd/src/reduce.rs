//! Which types an operator reduces, and its element loops on each type (standard, table
//! "Team-based reduction types"; bitwise operators on signed types are an extension that other
//! implementations have too).

use super::exact;
use super::fold::{self, BLOCK, Dests, FoldBuffer, Sources, spread};
use super::ops::{And, Complex, Max, MaxOrNan, Min, MinOrNan, Or, Prod, Sum, Xor};
use super::vector::stream_fence;

type Complex32 = Complex<f32>;
type Complex64 = Complex<f64>;

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
    /// All arrays are aligned and valid for `n` elements. `dest` may be the same as `a` or `b`, or
    /// both; otherwise it overlaps neither.
    unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize);

    /// For each element, `source(0)[i] op source(1)[i] op …` in that order, stored to every
    /// destination. If `streaming`, the stores are non-temporal; they are ordered before all
    /// later stores when the call returns.
    ///
    /// # Safety
    /// There is at least one source and one destination. All arrays are aligned and valid for `n`
    /// elements. Any destination may be the same as any source; otherwise none overlap.
    #[inline]
    unsafe fn fold(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        let dest = |k| dests.0(k).cast();
        let source = |k| sources.0(k).cast();
        // SAFETY: the caller promises at least one source and one destination, valid for `n`
        // elements; the same arrays are passed on.
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
    /// All NaNs that result from several sources have the same bits.
    ///
    /// Cost compared with `fold` (sums of `double`, Xeon with AVX-512): 8 to 10 GB/s instead of 14
    /// for sources in memory, 17 to 22 GB/s instead of 70 to 130 for sources in the second-level
    /// cache. Where a sum is so near the middle between two numbers that only all digits decide,
    /// about 100 ns for the element and 5 ns for each of its terms.
    ///
    /// # Safety
    /// As for `fold`.
    #[inline]
    unsafe fn fold_exact(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        let dest = |k| dests.0(k).cast();
        let source = |k| sources.0(k).cast();
        // SAFETY: the caller promises at least one source and one destination, valid for `n`
        // elements; the same arrays are passed on.
        unsafe { Self::fold_exact_bytes((&dest, dests.1), (&source, sources.1), n, streaming) }
    }

    /// [`fold`](Self::fold) for callers that do not know the type of the elements, of which
    /// there are `n` in each array.
    ///
    /// # Safety
    /// As for `fold`.
    unsafe fn fold_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
        // SAFETY: the caller promises what `fold` asks for.
        unsafe { fold_by_combine((combine::<Self, Op>, size_of::<Self>()), dests, sources, n, streaming) }
    }

    /// [`fold_exact`](Self::fold_exact), as [`fold_bytes`](Self::fold_bytes).
    ///
    /// # Safety
    /// As for `fold_exact`.
    unsafe fn fold_exact_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
        // SAFETY: the caller promises what `fold_exact` asks for, which is what `fold` asks for.
        unsafe { Self::fold_bytes(dests, sources, n, streaming) }
    }

    /// The operator on this type as a value.
    #[inline]
    fn operator() -> &'static Operator {
        const { &Operator::new::<Self, Op>() }
    }
}

/// [`Reduce::fold`] by [`Reduce::combine`], for types that no vector register holds, of `size` bytes.
///
/// # Safety
/// As for `fold`; an element fits a [`FoldBuffer`].
unsafe fn fold_by_combine(
    (combine, size): (CombineFn, usize),
    dests: Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
    streaming: bool,
) {
    let mut block = FoldBuffer::new();
    let acc = block.start();
    for start in (0..n).step_by(BLOCK / size) {
        let len = (BLOCK / size).min(n - start);
        // SAFETY: the caller promises that all arrays are valid for `n` elements; the block has
        // room for `len`.
        unsafe {
            let place = |k| source(k).add(start * size);
            let mut folded = place(0);
            for k in 1..count {
                combine(acc, folded, place(k), len);
                folded = acc;
            }
            if count == 1 {
                acc.copy_from_nonoverlapping(folded, len * size);
            }
            spread(acc, dests, start * size, len * size, streaming);
        }
    }
    if streaming {
        stream_fence();
    }
}

/// Makes types reducible by an operator. Each is combined as a type of the same bytes; `$exact`
/// is its exact fold.
macro_rules! reduce {
    ($any_order:literal, $op:ty, [$($t:ty as $r:ty),*], $exact:expr) => {$(
        // SAFETY: `$t` is a number, or two: any bytes of its size are a value.
        unsafe impl Reduce<$op> for $t {
            const ANY_ORDER: bool = $any_order;

            #[inline]
            unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize) {
                // SAFETY: the caller promises what `Reduce::combine` asks for.
                unsafe { fold::combine::<$r, $op>(dest.cast(), a.cast(), b.cast(), n) }
            }

            unsafe fn fold_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
                const { assert!(size_of::<$t>() == size_of::<$r>()) };
                // SAFETY: the caller promises what `Reduce::fold` asks for.
                unsafe { fold::fold::<$r, $op>(dests, sources, n, streaming) }
            }

            unsafe fn fold_exact_bytes(dests: Dests<u8>, sources: Sources<u8>, n: usize, streaming: bool) {
                // SAFETY: the caller promises what `Reduce::fold_exact` asks for.
                unsafe { $exact(dests, sources, n, streaming) }
            }

            // A static of this crate, so that the element loops are compiled in it, for speed: crates that call
            // them may be compiled for size.
            fn operator() -> &'static Operator {
                static OPERATOR: Operator = Operator::new::<$t, $op>();
                &OPERATOR
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

/// [`Reduce::combine`] of arrays as bytes; the length is in elements.
pub type CombineFn = unsafe extern "C" fn(*mut u8, *const u8, *const u8, usize);
/// [`Reduce::fold_bytes`] or [`Reduce::fold_exact_bytes`]; the length is in elements.
type FoldFn = unsafe fn(Dests<'_, u8>, Sources<'_, u8>, usize, bool);

/// Operator `Op` on type `T` as a value: the algorithms of reductions are written over it, so
/// that each of them is compiled once and not for every type and operator.
#[derive(Debug)]
pub struct Operator {
    /// Bytes of an element, in what alignment leaves free: each process writes these structures as it starts.
    size: u16,
    /// [`Reduce::ANY_ORDER`].
    pub any_order: bool,
    /// Whether operands may be swapped. Else they are combined in the members' order, all of an element by one fold.
    pub commutes: bool,
    /// [`Reduce::combine`].
    pub combine: CombineFn,
    /// [`Reduce::fold`] and [`Reduce::fold_exact`], where they are more than calls of `combine`.
    folds: Option<[FoldFn; 2]>,
}

impl Operator {
    /// Most bytes of an element.
    pub const LARGEST: usize = BLOCK / 2;

    /// Bytes of an element.
    #[inline]
    pub const fn size(&self) -> usize {
        self.size as usize
    }

    /// Operator `Op` on type `T`.
    #[inline]
    pub fn of<T: Reduce<Op>, Op>() -> &'static Self {
        T::operator()
    }

    pub(super) const fn new<T: Reduce<Op>, Op>() -> Self {
        Self {
            size: size_of::<T>() as u16,
            any_order: T::ANY_ORDER,
            commutes: true,
            combine: combine::<T, Op>,
            folds: Some([T::fold_bytes, T::fold_exact_bytes]),
        }
    }

    /// The same, by one fold of all operands of an element, in the members' order.
    pub(super) const fn in_order(self) -> Self {
        Self { commutes: false, ..self }
    }

    /// One that a function computes, of elements of at most [`LARGEST`](Self::LARGEST) bytes.
    pub const fn by(combine: CombineFn, size: usize, any_order: bool, commutes: bool) -> Self {
        assert!(size > 0 && size <= Self::LARGEST);
        Self { size: size as u16, any_order, commutes, combine, folds: None }
    }

    /// [`Reduce::fold`], or if `exact` [`Reduce::fold_exact`].
    ///
    /// # Safety
    /// As for these.
    #[inline]
    pub unsafe fn fold(&self, exact: bool, dests: Dests<'_, u8>, sources: Sources<'_, u8>, n: usize, streaming: bool) {
        // SAFETY: the caller promises what `Reduce::fold` asks for.
        unsafe {
            match self.folds {
                Some([fold, fold_exact]) => (if exact { fold_exact } else { fold })(dests, sources, n, streaming),
                None => fold_by_combine((self.combine, self.size()), dests, sources, n, streaming),
            }
        }
    }
}

/// [`Reduce::combine`] of arrays as bytes.
///
/// # Safety
/// As for [`Reduce::combine`]; the arrays hold elements of `T`.
unsafe extern "C" fn combine<T: Reduce<Op>, Op>(dest: *mut u8, a: *const u8, b: *const u8, n: usize) {
    // SAFETY: the caller promises what `Reduce::combine` asks for, of elements of `T`.
    unsafe { T::combine(dest.cast(), a.cast(), b.cast(), n) };
}

//! Operators of reductions and scans, and the types they apply to (standard, table
//! "Team-based reduction types"; bitwise operators on signed types are an extension that
//! other implementations have too).

use super::fold;

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
    /// Whether the result has the same bits in whatever order operands are taken.
    const ANY_ORDER: bool;

    /// `dest[i] = a[i] op b[i]` for `n` elements.
    ///
    /// # Safety
    /// All are aligned and valid for `n` elements. `dest` may be the same as `a` or `b`, or
    /// both; otherwise it overlaps neither.
    unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize);

    /// For each element, `source(0)[i] op source(1)[i] op …` in that order, stored to every
    /// destination; with non-temporal stores if `streaming`.
    ///
    /// # Safety
    /// There is at least one source and one destination. All are aligned and valid for `n`
    /// elements. Any destination may be the same as any source; otherwise none overlap.
    unsafe fn fold(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        // SAFETY: the caller's promise.
        unsafe { fold::by_combine::<Self, Op>(dests, sources, n, streaming) }
    }

    /// As [`fold`](Self::fold), but the result does not depend on the order of the sources,
    /// where the type allows it.
    ///
    /// # Safety
    /// As for `fold`.
    unsafe fn fold_exact(dests: Dests<Self>, sources: Sources<Self>, n: usize, streaming: bool) {
        // SAFETY: the caller's promise.
        unsafe { Self::fold(dests, sources, n, streaming) }
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

macro_rules! reduce {
    ($op:ty, [$($t:ty),*], $any_order:expr, |$a:ident, $x:ident| $value:expr) => {$(
        // SAFETY: plain data.
        unsafe impl Reduce<$op> for $t {
            const ANY_ORDER: bool = $any_order;

            #[inline]
            unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize) {
                for i in 0..n {
                    // SAFETY: the caller's promise; each element is read before it is written.
                    unsafe {
                        let ($a, $x) = (a.add(i).read(), b.add(i).read());
                        dest.add(i).write($value);
                    }
                }
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty),*) => {
        reduce!(And, [$($t),*], true, |a, x| a & x);
        reduce!(Or, [$($t),*], true, |a, x| a | x);
        reduce!(Xor, [$($t),*], true, |a, x| a ^ x);
        reduce!(Max, [$($t),*], true, |a, x| a.max(x));
        reduce!(Min, [$($t),*], true, |a, x| a.min(x));
        reduce!(Sum, [$($t),*], true, |a, x| a.wrapping_add(x));
        reduce!(Prod, [$($t),*], true, |a, x| a.wrapping_mul(x));
    };
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
// As C programs write it; which operand survives a NaN is left open by the standard.
reduce!(Max, [f32, f64], false, |a, x| if x > a { x } else { a });
reduce!(Min, [f32, f64], false, |a, x| if x < a { x } else { a });
reduce!(Sum, [f32, f64], false, |a, x| a + x);
reduce!(Prod, [f32, f64], false, |a, x| a * x);
reduce!(Sum, [Complex<f32>, Complex<f64>], false, |a, x| Complex { re: a.re + x.re, im: a.im + x.im });
reduce!(Prod, [Complex<f32>, Complex<f64>], false, |a, x| Complex {
    re: a.re * x.re - a.im * x.im,
    im: a.re * x.im + a.im * x.re,
});

//! Operators of reductions and scans, and the types they apply to (standard, table
//! "Team-based reduction types"; bitwise operators on signed types are an extension that
//! other implementations have too).

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

/// A type that operator `Op` reduces.
///
/// # Safety
/// The type is plain data: any bytes of its size are a value, as other PEs write them.
pub unsafe trait Reduce<Op>: Copy + 'static {
    /// `acc[i] = acc[i] op x[i]`, for slices of the same length.
    fn combine(acc: &mut [Self], x: &[Self]);
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
    ($op:ty, [$($t:ty),*], |$a:ident, $x:ident| $value:expr) => {$(
        // SAFETY: plain data.
        unsafe impl Reduce<$op> for $t {
            #[inline]
            fn combine(acc: &mut [Self], x: &[Self]) {
                for (acc, x) in acc.iter_mut().zip(x) {
                    let ($a, $x) = (*acc, *x);
                    *acc = $value;
                }
            }
        }
    )*};
}

macro_rules! integers {
    ($($t:ty),*) => {
        reduce!(And, [$($t),*], |a, x| a & x);
        reduce!(Or, [$($t),*], |a, x| a | x);
        reduce!(Xor, [$($t),*], |a, x| a ^ x);
        reduce!(Max, [$($t),*], |a, x| a.max(x));
        reduce!(Min, [$($t),*], |a, x| a.min(x));
        reduce!(Sum, [$($t),*], |a, x| a.wrapping_add(x));
        reduce!(Prod, [$($t),*], |a, x| a.wrapping_mul(x));
    };
}

integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);
// As C programs write it; which operand survives a NaN is left open by the standard.
reduce!(Max, [f32, f64], |a, x| if x > a { x } else { a });
reduce!(Min, [f32, f64], |a, x| if x < a { x } else { a });
reduce!(Sum, [f32, f64], |a, x| a + x);
reduce!(Prod, [f32, f64], |a, x| a * x);
reduce!(Sum, [Complex<f32>, Complex<f64>], |a, x| Complex { re: a.re + x.re, im: a.im + x.im });
reduce!(Prod, [Complex<f32>, Complex<f64>], |a, x| Complex {
    re: a.re * x.re - a.im * x.im,
    im: a.re * x.im + a.im * x.re,
});

//! Registers as bundles of elements.
//!
//! An operator is written once, on elements. It is applied to all lanes of a register by a
//! loop of constant length, of which the compiler makes the vector instruction that it is. It
//! does so for integers; for floating-point numbers it depends on the compiler's version, so
//! that their instructions are named here. What comes out is a test of the library's object
//! code.

use super::ops::{Complex, Prod};
#[cfg(target_arch = "x86_64")]
pub(super) use super::registers::{__m256i, __m512i, Least};

/// What serves as a register where no register type is named.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Least(#[allow(dead_code, reason = "read as elements")] [u64; 2]);

#[cfg(not(target_arch = "x86_64"))]
// SAFETY: plain data; the functions are those of the trait.
unsafe impl Vector for Least {}

// A single double, for the rest that fills no register.
// SAFETY: plain data; the functions are those of the trait.
unsafe impl Vector for f64 {}

/// A function of the lanes of two registers, for those that have no instruction.
macro_rules! lanewise {
    ($($(#[$doc:meta])* $name:ident: $t:ty, |$a:ident, $b:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The machine has the register.
        #[inline(always)]
        unsafe fn $name(a: Self, b: Self) -> Self {
            each_lane(a, b, |$a: $t, $b: $t| $value)
        }
    )*};
}

/// A register: plain data of its size, and what is done with it.
///
/// # Safety
/// Any bytes of the size are a value, and there is no padding. The functions do what they do
/// here: for each lane, with the same bits unless they are a NaN.
pub(super) unsafe trait Vector: Copy + 'static {
    lanewise! {
        /// The sums.
        add_f32: f32, |a, b| a + b;
        /// The sums.
        add_f64: f64, |a, b| a + b;
        /// The differences.
        sub_f64: f64, |a, b| a - b;
        /// The products.
        mul_f32: f32, |a, b| a * b;
        /// The products.
        mul_f64: f64, |a, b| a * b;
        /// The products of complex numbers.
        mul_complex_f32: Complex<f32>, |a, b| Combine::<Prod>::combine(a, b);
        /// The products of complex numbers.
        mul_complex_f64: Complex<f64>, |a, b| Combine::<Prod>::combine(a, b);
        /// What is greater in `b`, the rest from `a`.
        max_f32: f32, |a, b| if b > a { b } else { a };
        /// What is greater in `b`, the rest from `a`.
        max_f64: f64, |a, b| if b > a { b } else { a };
        /// What is less in `b`, the rest from `a`.
        min_f32: f32, |a, b| if b < a { b } else { a };
        /// What is less in `b`, the rest from `a`.
        min_f64: f64, |a, b| if b < a { b } else { a };
    }

    /// Numbers in double precision, as many as fit.
    ///
    /// # Safety
    /// `from` is valid for so many numbers. The machine has the register.
    #[inline(always)]
    unsafe fn widen(from: *const f32) -> Self {
        // SAFETY: zeros are a value of plain data; the caller's promise.
        unsafe {
            let mut wide: Self = std::mem::zeroed();
            for lane in 0..lanes::<Self, f64>() {
                let number = f64::from(from.add(lane).read());
                (&raw mut wide).cast::<f64>().add(lane).write(number);
            }
            wide
        }
    }

    /// Stores past the caches if the machine can. Not ordered before later stores until
    /// [`stream_fence`].
    ///
    /// # Safety
    /// `dest` is valid for a register, and aligned to its size. The machine has the register.
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { dest.write(value) }
    }
}

/// Orders streaming stores before all later stores.
#[inline]
pub(super) fn stream_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: part of SSE2, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// A type whose elements operator `Op` combines.
pub(super) trait Combine<Op>: Copy + 'static {
    /// `a op b`.
    fn combine(a: Self, b: Self) -> Self;

    /// Each element of `a` combined with that of `b`.
    ///
    /// # Safety
    /// The machine has the register.
    #[inline(always)]
    unsafe fn combine_lanes<V: Vector>(a: V, b: V) -> V {
        each_lane(a, b, Self::combine)
    }
}

/// Number of elements in a register.
#[inline(always)]
pub(super) const fn lanes<V, T>() -> usize {
    size_of::<V>() / size_of::<T>()
}

/// Each element of `a` combined with that of `b`. The elements are plain data.
#[inline(always)]
fn each_lane<V: Vector, T: Copy>(a: V, b: V, combine: impl Fn(T, T) -> T) -> V {
    const {
        assert!(size_of::<V>().is_multiple_of(size_of::<T>()));
        assert!(align_of::<V>() >= align_of::<T>());
    }
    let mut result = a;
    let (a, b, r) = (&raw const a, &raw const b, &raw mut result);
    for lane in 0..lanes::<V, T>() {
        // SAFETY: registers are plain data that hold so many elements.
        unsafe {
            let (a, b) = (a.cast::<T>().add(lane), b.cast::<T>().add(lane));
            r.cast::<T>().add(lane).write(combine(a.read(), b.read()));
        }
    }
    result
}

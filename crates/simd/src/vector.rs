//! Vector registers: several elements of one type side by side, the lanes.
//!
//! An operator is written once, on elements. A loop of constant length applies it to all lanes
//! of a register, and the compiler turns this loop into one vector instruction. It does so for
//! integers. For floating-point numbers it depends on the compiler's version, so this trait names
//! their instructions. A test of the library's object code checks the result.

use super::ops::Complex;

// A single double, for the last elements, which do not fill a register.
// SAFETY: plain data; the functions are those of the trait.
unsafe impl Vector for f64 {}

/// Default functions of the lanes of two registers, for registers without the instruction.
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

/// A vector register, and the operations on its lanes.
///
/// # Safety
/// Any bytes of the size are a value, and there is no padding. An implementation's functions
/// return the same bits as the default ones, lane by lane, except that NaNs may differ.
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
        mul_complex_f32: Complex<f32>, |a, b| a.times(b);
        /// The products of complex numbers.
        mul_complex_f64: Complex<f64>, |a, b| a.times(b);
        /// The lanes of `b` that are greater, the others of `a`.
        max_f32: f32, |a, b| if b > a { b } else { a };
        /// The lanes of `b` that are greater, the others of `a`.
        max_f64: f64, |a, b| if b > a { b } else { a };
        /// The lanes of `b` that are less, the others of `a`.
        min_f32: f32, |a, b| if b < a { b } else { a };
        /// The lanes of `b` that are less, the others of `a`.
        min_f64: f64, |a, b| if b < a { b } else { a };
    }

    /// Loads as many numbers as the register has lanes of double precision, and widens them.
    ///
    /// # Safety
    /// `from` is readable for that many numbers. The machine has the register.
    #[inline(always)]
    unsafe fn widen(from: *const f32) -> Self {
        // SAFETY: all bytes zero are a value of plain data; the caller promises that `from` is
        // readable for as many numbers as there are lanes.
        unsafe {
            let mut wide: Self = std::mem::zeroed();
            for lane in 0..lanes::<Self, f64>() {
                let number = f64::from(from.add(lane).read());
                (&raw mut wide).cast::<f64>().add(lane).write(number);
            }
            wide
        }
    }

    /// Stores a register with a non-temporal store where the machine has one. Other processors
    /// may see later stores earlier, until [`stream_fence`].
    ///
    /// # Safety
    /// `dest` is writable for a register, and aligned to its size. The machine has the register.
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller promises that `dest` is writable for a register and aligned.
        unsafe { dest.write(value) }
    }
}

/// Fetches the line of `at` if it is mapped. Into all caches: on a Sapphire Rapids, what is fetched for one reading
/// alone (NTA) a page ahead has gone when it is read, and a copy takes three times as long.
#[inline(always)]
pub(super) fn prefetch(at: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: part of SSE, which every x86-64 has. It never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(any(target_arch = "x86_64", miri)))]
    ferroshmem_platform::prefetch_for_read(at);
    #[cfg(miri)]
    let _ = at;
}

/// Orders non-temporal stores before all later stores. On Arm what orders other stores orders these, too
/// (`dev/litmus/put-past-caches.litmus`).
#[inline]
pub(super) fn stream_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: part of SSE2, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Number of elements in a register.
#[inline(always)]
pub(super) const fn lanes<V, T>() -> usize {
    size_of::<V>() / size_of::<T>()
}

/// Combines each lane of `a` with the same lane of `b`. The elements are plain data.
#[inline(always)]
pub(super) fn each_lane<V: Vector, T: Copy>(a: V, b: V, combine: impl Fn(T, T) -> T) -> V {
    const {
        assert!(size_of::<V>().is_multiple_of(size_of::<T>()));
        assert!(align_of::<V>() >= align_of::<T>());
    }
    let mut result = a;
    let (a, b, r) = (&raw const a, &raw const b, &raw mut result);
    for lane in 0..lanes::<V, T>() {
        // SAFETY: a register is plain data and holds `lanes` elements; `lane` is less.
        unsafe {
            let (a, b) = (a.cast::<T>().add(lane), b.cast::<T>().add(lane));
            r.cast::<T>().add(lane).write(combine(a.read(), b.read()));
        }
    }
    result
}

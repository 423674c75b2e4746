//! Registers as bundles of elements.
//!
//! An operator is written once, on elements. It is applied to all lanes of a register by a
//! loop of constant length, of which the compiler makes the vector instruction that it is.
//! That it does is a test of the library's object code.

#[cfg(target_arch = "x86_64")]
pub use std::arch::x86_64::{__m128i as Least, __m256i, __m512i};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm_stream_si128, _mm256_stream_si256, _mm512_stream_si512};

/// What serves as a register where no register type is named.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Clone, Copy)]
#[repr(align(16))]
pub struct Least(#[allow(dead_code, reason = "read as elements")] [u64; 2]);

/// A register: plain data of its size.
///
/// # Safety
/// Any bytes of the size are a value, and there is no padding.
pub unsafe trait Vector: Copy + 'static {
    /// Stores past the caches if the machine can. Not ordered before later stores until
    /// [`stream_fence`].
    ///
    /// # Safety
    /// `dest` is valid for a register, and aligned to its size. The machine has the register.
    unsafe fn stream(dest: *mut Self, value: Self);
}

/// Orders streaming stores before all later stores.
#[inline]
pub fn stream_fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: part of SSE2, which every x86-64 has.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(target_arch = "x86_64")]
// SAFETY: plain data.
unsafe impl Vector for Least {
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { _mm_stream_si128(dest, value) }
    }
}

#[cfg(target_arch = "x86_64")]
// SAFETY: plain data.
unsafe impl Vector for __m256i {
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_stream_si256(dest, value) }
    }
}

#[cfg(target_arch = "x86_64")]
// SAFETY: plain data.
unsafe impl Vector for __m512i {
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_stream_si512(dest, value) }
    }
}

// A single lane, for the rest that fills no register.
// SAFETY: plain data.
unsafe impl Vector for f64 {
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { dest.write(value) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
// SAFETY: plain data.
unsafe impl Vector for Least {
    #[inline(always)]
    unsafe fn stream(dest: *mut Self, value: Self) {
        // SAFETY: the caller's promise.
        unsafe { dest.write(value) }
    }
}

/// A type whose elements operator `Op` combines.
pub trait Combine<Op>: Copy + 'static {
    /// `a op b`.
    fn combine(a: Self, b: Self) -> Self;
}

/// Number of elements in a register.
#[inline(always)]
pub const fn lanes<V, T>() -> usize {
    size_of::<V>() / size_of::<T>()
}

/// Each element of `a` combined with that of `b`. The elements are plain data.
#[inline(always)]
pub fn combine<V: Vector, T: Combine<Op>, Op>(a: V, b: V) -> V {
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
            r.cast::<T>()
                .add(lane)
                .write(T::combine(a.read(), b.read()));
        }
    }
    result
}

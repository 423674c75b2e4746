//! Copying between memory that is this thread's alone and memory that others may read and write
//! at the same time.
//!
//! Such copies are as if each byte were read or written by a relaxed atomic operation: they race
//! with nobody, and what is read may be partly old and partly new, which is a value all the
//! same as all elements are plain data. Few words are copied by atomics of their size, which
//! makes each whole; many bytes by the C library's `memcpy`, called through a pointer that the
//! compiler cannot see through, so that it knows no more of it than of another PE's stores.
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes up to which words are copied one by one.
const FEW: usize = 64;

type Memcpy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

unsafe extern "C" {
    fn memcpy(dest: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void;
}

/// The C library's function, of which the compiler forgets which one it is.
#[inline(always)]
#[expect(
    clippy::pointers_in_nomem_asm_block,
    reason = "nothing is read through it here"
)]
fn opaque_memcpy() -> Memcpy {
    let mut function: Memcpy = memcpy;
    // SAFETY: no instruction.
    unsafe {
        asm!("/* {0} */", inout(reg) function, options(pure, nomem, nostack, preserves_flags));
    };
    function
}

/// Stores `n` elements to memory that others may use at the same time.
///
/// # Safety
/// `source` is valid for reads of `n` elements, which nobody writes; `shared` is mapped and
/// aligned for as many, and nobody in this process has a reference to it.
#[inline(always)]
pub(crate) unsafe fn store<T>(shared: *mut T, source: *const T, n: usize) {
    // SAFETY: the caller's promise, for each of the macro's and the call's accesses.
    unsafe {
        if !words(
            shared.cast(),
            source.cast(),
            size_of::<T>() * n,
            align_of::<T>(),
            Direction::Out,
        ) {
            opaque_memcpy()(shared.cast(), source.cast(), size_of::<T>() * n);
        }
    }
}

/// Loads `n` elements from memory that others may use at the same time.
///
/// # Safety
/// `dest` is valid for writes of `n` elements, which nobody else uses; `shared` is as for
/// [`store`].
#[inline(always)]
pub(crate) unsafe fn load<T>(dest: *mut T, shared: *const T, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = size_of::<T>() * n;
        if !words(
            shared.cast_mut().cast(),
            dest.cast_const().cast(),
            bytes,
            align_of::<T>(),
            Direction::In,
        ) {
            opaque_memcpy()(dest.cast(), shared.cast(), bytes);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

/// Copies few bytes by atomics of the elements' alignment; whether it did. After inlining, all but
/// the copies themselves is known to the compiler for a number of elements that is.
///
/// # Safety
/// As for [`store`] and [`load`]; `own` is written if the direction is in.
#[inline(always)]
unsafe fn words(
    shared: *mut u8,
    own: *const u8,
    bytes: usize,
    align: usize,
    direction: Direction,
) -> bool {
    macro_rules! by {
        ($word:ty, $atomic:ty) => {{
            const SIZE: usize = size_of::<$word>();
            if bytes == SIZE {
                // SAFETY: the caller's promise; aligned as the elements are.
                unsafe { one::<$word, $atomic>(shared, own, direction) };
                return true;
            }
            if bytes <= FEW && bytes.is_multiple_of(SIZE) {
                for at in (0..bytes).step_by(SIZE) {
                    // SAFETY: as above, within the elements.
                    unsafe { one::<$word, $atomic>(shared.add(at), own.add(at), direction) };
                }
                return true;
            }
        }};
    }
    match align {
        8.. => by!(u64, AtomicU64),
        4 => by!(u32, AtomicU32),
        2 => by!(u16, AtomicU16),
        _ if bytes == 1 => by!(u8, AtomicU8),
        _ => {}
    }
    false
}

/// A type of std's atomics.
trait Word<W> {
    /// # Safety
    /// As for [`words`].
    unsafe fn copy(shared: *mut W, own: *mut W, direction: Direction);
}

macro_rules! word {
    ($($word:ty = $atomic:ty),*) => {$(
        impl Word<$word> for $atomic {
            #[inline(always)]
            unsafe fn copy(shared: *mut $word, own: *mut $word, direction: Direction) {
                // SAFETY: the caller's promise.
                unsafe {
                    let shared = <$atomic>::from_ptr(shared);
                    match direction {
                        Direction::Out => shared.store(own.read_unaligned(), Relaxed),
                        Direction::In => own.write_unaligned(shared.load(Relaxed)),
                    }
                }
            }
        }
    )*};
}

word!(
    u8 = AtomicU8,
    u16 = AtomicU16,
    u32 = AtomicU32,
    u64 = AtomicU64
);

/// # Safety
/// As for [`words`].
#[inline(always)]
unsafe fn one<W, A: Word<W>>(shared: *mut u8, own: *const u8, direction: Direction) {
    // SAFETY: the caller's promise.
    unsafe { A::copy(shared.cast(), own.cast_mut().cast(), direction) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Copy + PartialEq + std::fmt::Debug>(values: &[T], zero: T) {
        for n in 0..=values.len() {
            let mut there = vec![zero; values.len()];
            let mut back = there.clone();
            // SAFETY: vectors of at least n elements.
            unsafe {
                store(there.as_mut_ptr(), values.as_ptr(), n);
                load(back.as_mut_ptr(), there.as_ptr(), n);
            }
            assert_eq!(there[..n], values[..n]);
            assert_eq!(back[..n], values[..n]);
            assert!(
                back[n..].iter().all(|value| *value == zero),
                "{n}: {back:?}"
            );
        }
    }

    #[test]
    fn every_length_and_alignment() {
        round_trip(&Vec::from_iter(1..40u8), 0);
        round_trip(&Vec::from_iter(1..40u16), 0);
        round_trip(&Vec::from_iter(1..40u32), 0);
        round_trip(&Vec::from_iter(1..40u64), 0);
        round_trip(&Vec::from_iter((1..40).map(f64::from)), 0.0);
        round_trip(&Vec::from_iter((1..40u8).map(|i| [i, 1, i])), [0; 3]);
        round_trip(&Vec::from_iter((1..40).map(|i| [i, -i])), [0; 2]);
        round_trip(&Vec::from_iter((1..40u128).map(|i| i << 70)), 0);
    }
}

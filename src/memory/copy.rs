//! Copying between private memory of a thread and memory that other threads and PEs may read and
//! write at the same time.
//!
//! Such a copy is as if each byte were read or written by a relaxed atomic operation: it is no data
//! race. What it reads may be partly old and partly new, which is a valid value, because elements are
//! plain data. Up to [`FEW`] bytes are copied by atomics of the elements' size, so that each element is
//! whole; more by the runtime's copy, called through a function pointer that is opaque to the
//! compiler, which therefore assumes as little of the copy as of another PE's stores.
#![allow(unsafe_code)]

use std::arch::asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::*, fence};

use ferroshmem_api::rma;

/// Most bytes that are copied word by word.
const FEW: usize = 64;

type CopyFunction = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;

/// The runtime's copy, as a pointer whose value the compiler does not know.
#[inline(always)]
#[expect(clippy::pointers_in_nomem_asm_block, reason = "the asm does not read through the pointer")]
fn opaque_copy() -> CopyFunction {
    let mut function: CopyFunction = rma::copy;
    // SAFETY: the asm is a comment: it has no instruction.
    unsafe {
        asm!("/* {0} */", inout(reg) function, options(pure, nomem, nostack, preserves_flags));
    };
    function
}

/// Stores `n` elements to memory that others may use at the same time.
///
/// # Safety
/// `source` is valid for reads of `n` elements, which no other thread writes; `shared` is mapped and
/// aligned for `n` elements, and no thread of this process has a reference to them.
#[inline(always)]
pub(crate) unsafe fn store<T>(shared: *mut T, source: *const T, n: usize) {
    // SAFETY: the caller promises that `source` is readable and `shared` writable for `n` elements,
    // which covers each access of `words` and of the copy.
    unsafe {
        if !words(shared.cast(), source.cast(), size_of::<T>() * n, align_of::<T>(), Direction::Out) {
            opaque_copy()(shared.cast(), source.cast(), size_of::<T>() * n);
        }
    }
}

/// Loads `n` elements from memory that others may use at the same time.
///
/// # Safety
/// `dest` is valid for writes of `n` elements, which no other thread uses; `shared` is as for
/// [`store`].
#[inline(always)]
pub(crate) unsafe fn load<T>(dest: *mut T, shared: *const T, n: usize) {
    // SAFETY: the caller promises that `dest` is writable and `shared` readable for `n` elements,
    // which covers each access of `words` and of the copy.
    unsafe {
        let bytes = size_of::<T>() * n;
        if !words(shared.cast_mut().cast(), dest.cast_const().cast(), bytes, align_of::<T>(), Direction::In) {
            opaque_copy()(dest.cast(), shared.cast(), bytes);
        }
    }
    // It is complete: what this PE does next comes after what it has read. x86 loads in order, and there this would
    // keep loops of loads from becoming vectors.
    if cfg!(not(target_arch = "x86_64")) {
        fence(Acquire);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Out,
    In,
}

/// Copies up to [`FEW`] bytes by atomics of the elements' alignment; returns whether it did. Where the
/// number of elements is a constant, inlining leaves only the copies.
///
/// # Safety
/// As for [`store`] and [`load`]; `own` is written if the direction is in.
#[inline(always)]
unsafe fn words(shared: *mut u8, own: *const u8, bytes: usize, align: usize, direction: Direction) -> bool {
    macro_rules! by {
        ($word:ty, $atomic:ty) => {{
            const SIZE: usize = size_of::<$word>();
            if bytes == SIZE {
                // SAFETY: the caller promises `bytes` bytes at both addresses; elements, and so words,
                // are aligned to their size.
                unsafe { one::<$word, $atomic>(shared, own, direction) };
                return true;
            }
            if bytes <= FEW && bytes.is_multiple_of(SIZE) {
                for at in (0..bytes).step_by(SIZE) {
                    // SAFETY: as above; `at` is less than `bytes`.
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

/// An atomic type of the standard library.
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
                // SAFETY: the caller promises that `shared` is mapped and aligned for a word, and
                // `own` valid for one.
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

word!(u8 = AtomicU8, u16 = AtomicU16, u32 = AtomicU32, u64 = AtomicU64);

/// # Safety
/// As for [`words`].
#[inline(always)]
unsafe fn one<W, A: Word<W>>(shared: *mut u8, own: *const u8, direction: Direction) {
    // SAFETY: the caller promises a word at both addresses, as `copy` requires.
    unsafe { A::copy(shared.cast(), own.cast_mut().cast(), direction) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip<T: Copy + PartialEq + std::fmt::Debug>(values: &[T], zero: T) {
        for n in 0..=values.len() {
            let mut shared = vec![zero; values.len()];
            let mut back = shared.clone();
            // SAFETY: vectors of at least `n` elements, which only this thread uses.
            unsafe {
                store(shared.as_mut_ptr(), values.as_ptr(), n);
                load(back.as_mut_ptr(), shared.as_ptr(), n);
            }
            assert_eq!(shared[..n], values[..n]);
            assert_eq!(back[..n], values[..n]);
            assert!(back[n..].iter().all(|value| *value == zero), "{n}: {back:?}");
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

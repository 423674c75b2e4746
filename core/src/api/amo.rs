//! Atomic memory operations (standard, "Atomic Memory Operations"): CPU atomics on the
//! other PE's window, so they are atomic against each other and against C11 atomics.

use std::ffi::c_int;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use crate::context::world_pe;
use crate::runtime;

/// A type that can be set, fetched and swapped (standard, "Extended AMO Types").
pub trait Atomic: Copy + 'static {
    /// Reads; what is accessed later comes after it.
    ///
    /// # Safety
    /// For this and the other methods: the pointer is valid, aligned, and what it points
    /// to is changed by atomics only.
    unsafe fn fetch(at: *mut Self) -> Self;
    /// Writes; what was accessed earlier comes before it. A plain store on most CPUs, as in
    /// `shmem.h`.
    ///
    /// # Safety
    /// As `fetch`.
    unsafe fn set(at: *mut Self, value: Self);
    /// Writes and returns what was there.
    ///
    /// # Safety
    /// As `fetch`.
    unsafe fn swap(at: *mut Self, value: Self) -> Self;
}

/// An integer type with arithmetic (standard, "Standard AMO Types") and bitwise atomics.
pub trait AtomicInt: Atomic {
    /// The number 1.
    const ONE: Self;
    /// Writes `value` if `cond` is there; returns what was there.
    ///
    /// # Safety
    /// As [`Atomic::fetch`], for this and the other methods.
    unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self;
    /// Adds, wrapping; returns what was there.
    ///
    /// # Safety
    /// As [`Atomic::fetch`].
    unsafe fn fetch_add(at: *mut Self, value: Self) -> Self;
    /// Bitwise and; returns what was there.
    ///
    /// # Safety
    /// As [`Atomic::fetch`].
    unsafe fn fetch_and(at: *mut Self, value: Self) -> Self;
    /// Bitwise or; returns what was there.
    ///
    /// # Safety
    /// As [`Atomic::fetch`].
    unsafe fn fetch_or(at: *mut Self, value: Self) -> Self;
    /// Bitwise exclusive or; returns what was there.
    ///
    /// # Safety
    /// As [`Atomic::fetch`].
    unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self;
}

macro_rules! integers {
    ($($t:ty = $atomic:ty),*) => {$(
        // SAFETY (of all unsafe blocks below): the trait's contract is that of `from_ptr`.
        impl Atomic for $t {
            #[inline]
            unsafe fn fetch(at: *mut Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.load(Acquire)
            }
            #[inline]
            unsafe fn set(at: *mut Self, value: Self) {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.store(value, Release);
            }
            #[inline]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.swap(value, SeqCst)
            }
        }
        impl AtomicInt for $t {
            const ONE: Self = 1;
            #[inline]
            unsafe fn compare_swap(at: *mut Self, cond: Self, value: Self) -> Self {
                // SAFETY: see above.
                let word = unsafe { <$atomic>::from_ptr(at) };
                word.compare_exchange(cond, value, SeqCst, Relaxed).unwrap_or_else(|seen| seen)
            }
            #[inline]
            unsafe fn fetch_add(at: *mut Self, value: Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.fetch_add(value, SeqCst)
            }
            #[inline]
            unsafe fn fetch_and(at: *mut Self, value: Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.fetch_and(value, SeqCst)
            }
            #[inline]
            unsafe fn fetch_or(at: *mut Self, value: Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.fetch_or(value, SeqCst)
            }
            #[inline]
            unsafe fn fetch_xor(at: *mut Self, value: Self) -> Self {
                // SAFETY: see above.
                unsafe { <$atomic>::from_ptr(at) }.fetch_xor(value, SeqCst)
            }
        }
    )*};
}

integers!(
    i32 = AtomicI32,
    u32 = AtomicU32,
    i64 = AtomicI64,
    u64 = AtomicU64,
    isize = AtomicIsize,
    usize = AtomicUsize
);

macro_rules! floats {
    ($($t:ty as $bits:ty),*) => {$(
        impl Atomic for $t {
            #[inline]
            unsafe fn fetch(at: *mut Self) -> Self {
                // SAFETY: the trait's contract; same size and alignment.
                <$t>::from_bits(unsafe { <$bits>::fetch(at.cast()) })
            }
            #[inline]
            unsafe fn set(at: *mut Self, value: Self) {
                // SAFETY: as above.
                unsafe { <$bits>::set(at.cast(), value.to_bits()) }
            }
            #[inline]
            unsafe fn swap(at: *mut Self, value: Self) -> Self {
                // SAFETY: as above.
                <$t>::from_bits(unsafe { <$bits>::swap(at.cast(), value.to_bits()) })
            }
        }
    )*};
}

floats!(f32 as u32, f64 as u64);

/// Where the operation is to happen.
#[inline]
fn target<T>(name: &'static str, ctx: usize, argument: &str, at: *const T, pe: c_int) -> *mut T {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    rt.remote(name, argument, at.cast(), size_of::<T>(), pe)
        .cast()
}

/// Reads `source` on PE `pe`.
///
/// # Safety
/// For this and all functions below: the address is that of a symmetric, aligned `T`.
pub unsafe fn fetch<T: Atomic>(name: &'static str, ctx: usize, source: *const T, pe: c_int) -> T {
    // SAFETY: the caller's promise; the place is mapped.
    unsafe { T::fetch(target(name, ctx, "source", source, pe)) }
}

/// Writes `dest` on PE `pe`.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn set<T: Atomic>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
    // SAFETY: as in `fetch`.
    unsafe { T::set(target(name, ctx, "dest", dest, pe), value) }
}

/// Writes `dest` on PE `pe`; returns what was there.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn swap<T: Atomic>(
    name: &'static str,
    ctx: usize,
    dest: *mut T,
    value: T,
    pe: c_int,
) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::swap(target(name, ctx, "dest", dest, pe), value) }
}

/// Writes `dest` on PE `pe` if `cond` is there; returns what was there.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn compare_swap<T: AtomicInt>(
    name: &'static str,
    ctx: usize,
    dest: *mut T,
    cond: T,
    value: T,
    pe: c_int,
) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::compare_swap(target(name, ctx, "dest", dest, pe), cond, value) }
}

/// Adds 1 to `dest` on PE `pe`; returns what was there.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn fetch_inc<T: AtomicInt>(
    name: &'static str,
    ctx: usize,
    dest: *mut T,
    pe: c_int,
) -> T {
    // SAFETY: as in `fetch`.
    unsafe { T::fetch_add(target(name, ctx, "dest", dest, pe), T::ONE) }
}

macro_rules! fetching {
    ($($op:ident: $does:literal),*) => {$(
        #[doc = concat!($does, " `dest` on PE `pe`; returns what was there.")]
        ///
        /// # Safety
        /// As [`fetch`].
        pub unsafe fn $op<T: AtomicInt>(
            name: &'static str,
            ctx: usize,
            dest: *mut T,
            value: T,
            pe: c_int,
        ) -> T {
            // SAFETY: as in `fetch`.
            unsafe { T::$op(target(name, ctx, "dest", dest, pe), value) }
        }
    )*};
}

fetching!(
    fetch_add: "Adds to",
    fetch_and: "Ands into",
    fetch_or: "Ors into",
    fetch_xor: "Exclusive-ors into"
);

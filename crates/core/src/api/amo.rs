//! Atomic memory operations (standard, "Atomic Memory Operations"): on a node CPU atomics on the
//! other PE's window, so they are atomic against each other and against C11 atomics. Those to
//! other nodes are the fabric's: a provider whose atomics are not a CPU's does those on the own
//! node, too ([`crate::nodes::Link::all_atomics`]).

use std::ffi::c_int;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release, SeqCst},
};

use ferroshmem_fabric::{AtomicOp, Context, Op, Remote, Width};

use crate::context::{stream, world_pe};
use crate::nodes::Link;
use crate::runtime;
use crate::symmetric::Target;

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
    /// The value as the fabric takes it: its bits, the higher ones zero.
    fn to_bits(self) -> u64;
    /// The value of such bits.
    fn from_bits(bits: u64) -> Self;
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
            #[inline]
            #[allow(clippy::cast_lossless, reason = "for signed types it is none")]
            fn to_bits(self) -> u64 {
                // Signed numbers are not extended: the fabric looks at the low half alone.
                const MASK: u64 = u64::MAX >> (64 - 8 * size_of::<$t>());
                self as u64 & MASK
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as Self
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
            #[inline]
            fn to_bits(self) -> u64 {
                <$t>::to_bits(self).into()
            }
            #[inline]
            fn from_bits(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }
        }
    )*};
}

floats!(f32 as u32, f64 as u64);

/// An operation's place: in a window, or over the fabric.
enum Place<T> {
    Here(*mut T),
    There(&'static Link, &'static Context, Remote),
}

/// Where the operation is to happen.
#[inline]
fn place<T>(name: &'static str, ctx: usize, argument: &str, at: *const T, pe: c_int) -> Place<T> {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    match rt.atomic_target(name, argument, at.cast(), size_of::<T>(), pe) {
        Target::Here(there) => Place::Here(there.cast()),
        Target::There(there) => Place::There(rt.link(), stream(rt, name, ctx), there),
    }
}

const fn width<T>() -> Width {
    match size_of::<T>() {
        4 => Width::W32,
        _ => Width::W64,
    }
}

/// What the fabric takes for an operand; 0 where there is none.
fn bits<T: Atomic>(value: Option<T>) -> u64 {
    value.map_or(0, T::to_bits)
}

/// An operation with a result, and how a CPU does it.
#[inline]
fn fetching<T: Atomic>(
    name: &'static str,
    ctx: usize,
    argument: &str,
    at: *const T,
    pe: c_int,
    (op, value, cond): (Op, Option<T>, Option<T>),
    here: impl FnOnce(*mut T) -> T,
) -> T {
    match place(name, ctx, argument, at, pe) {
        Place::Here(there) => here(there),
        Place::There(link, stream, there) => {
            let (operand, compare) = (bits(value), bits(cond));
            let fabric = link.fabric();
            let _shown = runtime::get(name).show_wait(name);
            T::from_bits(fabric.fetch(
                stream,
                there,
                AtomicOp {
                    op,
                    width: width::<T>(),
                    operand,
                    compare,
                },
            ))
        }
    }
}

/// Reads `source` on PE `pe`.
///
/// # Safety
/// For this and all functions below: the address is that of a symmetric, aligned `T`.
pub unsafe fn fetch<T: Atomic>(name: &'static str, ctx: usize, source: *const T, pe: c_int) -> T {
    let what = (Op::Read, None, None);
    // SAFETY: the caller's promise; the place is mapped.
    fetching(name, ctx, "source", source, pe, what, |at| unsafe {
        T::fetch(at)
    })
}

/// Writes `dest` on PE `pe`.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn set<T: Atomic>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
    posting(name, ctx, dest, pe, (Op::Write, value), |at| {
        // SAFETY: as in `fetch`.
        unsafe { T::set(at, value) };
    });
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
    let what = (Op::Swap, Some(value), None);
    // SAFETY: as in `fetch`.
    fetching(name, ctx, "dest", dest, pe, what, |at| unsafe {
        T::swap(at, value)
    })
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
    let what = (Op::CompareSwap, Some(value), Some(cond));
    // SAFETY: as in `fetch`.
    fetching(name, ctx, "dest", dest, pe, what, |at| unsafe {
        T::compare_swap(at, cond, value)
    })
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
    unsafe { fetch_add(name, ctx, dest, T::ONE, pe) }
}

/// An operation without a result: over the fabric it is complete after a quiet.
#[inline]
fn posting<T: Atomic>(
    name: &'static str,
    ctx: usize,
    dest: *mut T,
    pe: c_int,
    (op, value): (Op, T),
    here: impl FnOnce(*mut T),
) {
    match place(name, ctx, "dest", dest, pe) {
        Place::Here(there) => here(there),
        Place::There(link, stream, there) => {
            let operand = value.to_bits();
            link.fabric()
                .post(stream, there, AtomicOp::new(op, width::<T>(), operand));
        }
    }
}

macro_rules! updates {
    ($($fetch:ident, $post:ident, $op:ident: $does:literal),*) => {$(
        #[doc = concat!($does, " `dest` on PE `pe`; returns what was there.")]
        ///
        /// # Safety
        /// As [`fetch`].
        pub unsafe fn $fetch<T: AtomicInt>(
            name: &'static str,
            ctx: usize,
            dest: *mut T,
            value: T,
            pe: c_int,
        ) -> T {
            let what = (Op::$op, Some(value), None);
            // SAFETY: as in `fetch`.
            fetching(name, ctx, "dest", dest, pe, what, |at| unsafe { T::$fetch(at, value) })
        }

        #[doc = concat!($does, " `dest` on PE `pe`.")]
        ///
        /// # Safety
        /// As [`fetch`].
        pub unsafe fn $post<T: AtomicInt>(
            name: &'static str,
            ctx: usize,
            dest: *mut T,
            value: T,
            pe: c_int,
        ) {
            posting(name, ctx, dest, pe, (Op::$op, value), |at| {
                // SAFETY: as in `fetch`.
                unsafe { T::$fetch(at, value) };
            });
        }
    )*};
}

updates!(
    fetch_add, add, Add: "Adds to",
    fetch_and, and, And: "Ands into",
    fetch_or, or, Or: "Ors into",
    fetch_xor, xor, Xor: "Exclusive-ors into"
);

/// Adds 1 to `dest` on PE `pe`.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn inc<T: AtomicInt>(name: &'static str, ctx: usize, dest: *mut T, pe: c_int) {
    // SAFETY: as in `fetch`.
    unsafe { add(name, ctx, dest, T::ONE, pe) }
}

/// As [`fetching`], complete after a quiet: `result` is not to be read before.
#[inline]
fn fetching_nbi<T: Atomic>(
    name: &'static str,
    ctx: usize,
    (argument, at): (&str, *const T),
    pe: c_int,
    result: *mut T,
    (op, value, cond): (Op, Option<T>, Option<T>),
    here: impl FnOnce(*mut T) -> T,
) {
    match place(name, ctx, argument, at, pe) {
        // SAFETY: callers promise that `result` is valid.
        Place::Here(there) => unsafe { result.write(here(there)) },
        Place::There(link, stream, there) => {
            let (operand, compare) = (bits(value), bits(cond));
            let (fabric, result) = (link.fabric(), result.cast());
            // SAFETY: callers promise that `result` is valid until a quiet.
            unsafe {
                fabric.fetch_nbi(
                    stream,
                    there,
                    AtomicOp {
                        op,
                        width: width::<T>(),
                        operand,
                        compare,
                    },
                    result,
                );
            }
        }
    }
}

macro_rules! non_blocking {
    ($($name:ident<$bound:ident>($($value:ident: $t:ty),*) as $does:ident($operation:expr) of $argument:ident),* $(,)?) => {$(
        #[doc = concat!("As [`", stringify!($does), "`], with the result at `fetch` after a quiet.")]
        ///
        /// # Safety
        /// As [`fetch`](fn@fetch); `fetch` is valid until a quiet.
        pub unsafe fn $name<T: $bound>(
            name: &'static str,
            ctx: usize,
            fetch: *mut T,
            $argument: *const T,
            $($value: $t,)*
            pe: c_int,
        ) {
            let at = (stringify!($argument), $argument);
            // SAFETY: as in `fetch`.
            fetching_nbi(name, ctx, at, pe, fetch, $operation, |at| unsafe { T::$does(at $(, $value)*) });
        }
    )*};
}

non_blocking!(
    fetch_nbi<Atomic>() as fetch((Op::Read, None, None)) of source,
    swap_nbi<Atomic>(value: T) as swap((Op::Swap, Some(value), None)) of dest,
    compare_swap_nbi<AtomicInt>(cond: T, value: T) as compare_swap((Op::CompareSwap, Some(value), Some(cond))) of dest,
    fetch_add_nbi<AtomicInt>(value: T) as fetch_add((Op::Add, Some(value), None)) of dest,
    fetch_and_nbi<AtomicInt>(value: T) as fetch_and((Op::And, Some(value), None)) of dest,
    fetch_or_nbi<AtomicInt>(value: T) as fetch_or((Op::Or, Some(value), None)) of dest,
    fetch_xor_nbi<AtomicInt>(value: T) as fetch_xor((Op::Xor, Some(value), None)) of dest,
);

/// As [`fetch_inc`], with the result at `fetch` after a quiet.
///
/// # Safety
/// As [`fetch_add_nbi`].
pub unsafe fn fetch_inc_nbi<T: AtomicInt>(
    name: &'static str,
    ctx: usize,
    fetch: *mut T,
    dest: *const T,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { fetch_add_nbi(name, ctx, fetch, dest, T::ONE, pe) }
}

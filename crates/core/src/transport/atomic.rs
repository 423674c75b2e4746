//! Atomic operations on the memory of other PEs: on a node CPU atomics, so they are atomic against each
//! other and against C11 atomics. Those to other nodes are the fabric's; a provider whose atomics are
//! not atomic with a CPU's does those on this node, too ([`Transport::atomics_by_fabric`]).

use std::ffi::c_void;
use std::sync::atomic::{
    AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Release, SeqCst},
    fence,
};

use ferroshmem_fabric::{AtomicOp, Op, Width};
use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics, Std};

use super::rma::{Location, Target};
use super::{Call, Transport};

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

/// Methods that are the atomic type's of the same name.
macro_rules! fetching {
    ($atomic:ty: $($name:ident),*) => {$(
        #[inline]
        unsafe fn $name(at: *mut Self, value: Self) -> Self {
            // SAFETY: the trait's contract is that of `from_ptr`.
            unsafe { <$atomic>::from_ptr(at) }.$name(value, SeqCst)
        }
    )*};
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
            fetching!($atomic: swap);
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
                word.compare_exchange(cond, value, SeqCst, Acquire).unwrap_or_else(|seen| seen)
            }
            fetching!($atomic: fetch_add, fetch_and, fetch_or, fetch_xor);
        }
    )*};
}

integers!(i32 = AtomicI32, u32 = AtomicU32, i64 = AtomicI64, u64 = AtomicU64, isize = AtomicIsize, usize = AtomicUsize);

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

const fn width<T>() -> Width {
    match size_of::<T>() {
        4 => Width::W32,
        _ => Width::W64,
    }
}

/// An atomic operation with operands of their own type.
#[derive(Debug, Clone, Copy)]
pub struct Operation<T> {
    op: Op,
    value: Option<T>,
    compare: Option<T>,
}

impl<T: Atomic> Operation<T> {
    /// Reads.
    pub const FETCH: Self = Self { op: Op::Read, value: None, compare: None };

    /// One with an operand.
    #[inline]
    pub fn with(op: Op, value: T) -> Self {
        Self { op, value: Some(value), compare: None }
    }

    /// Writes `value` if `compare` is there.
    #[inline]
    pub fn compare_swap(compare: T, value: T) -> Self {
        Self { op: Op::CompareSwap, value: Some(value), compare: Some(compare) }
    }

    /// Whether it adds.
    pub(super) fn adds(&self) -> bool {
        matches!(self.op, Op::Add)
    }

    /// The operand's bits.
    pub(super) fn operand(self) -> u64 {
        self.for_fabric().operand
    }

    /// As the fabric takes it, 0 where there is no operand.
    pub(super) fn for_fabric(self) -> AtomicOp {
        let bits = |value: Option<T>| value.map_or(0, T::to_bits);
        AtomicOp { op: self.op, width: width::<T>(), operand: bits(self.value), compare: bits(self.compare) }
    }
}

/// The symmetric variable that an atomic operation is on: the argument's name in the prototype, and its
/// address.
pub type Variable<'a, T> = (&'a str, *const T);

impl Call<'_> {
    /// An operation of another node's with a result, which is a wait.
    #[cold]
    #[inline(never)]
    pub(super) fn fetch(&self, from: &Target<'_>, operation: AtomicOp) -> u64 {
        let _shown = self.show_wait();
        from.fabric.fetch(from.context, from.at, operation)
    }
}

/// Updates a signal, after what this PE has put before.
#[inline]
pub fn update_signal<A: Atomics>(signal: &A::U64, operation: Operation<u64>) {
    let value = operation.for_fabric().operand;
    match operation.op {
        Op::Add => signal.fetch_add(value, SeqCst),
        _ => signal.swap(value, SeqCst),
    };
}

/// The value of a signal, before what this PE reads after.
#[inline]
pub fn signal_value<A: Atomics>(signal: &A::U64) -> u64 {
    signal.load(Acquire)
}

impl Transport {
    /// An operation with a result; `local` does it by CPU.
    #[inline(always)] // so that `local` and the operation are constants
    pub fn fetching<T: Atomic>(
        &self,
        call: &Call<'_>,
        (argument, addr): Variable<'_, T>,
        operation: Operation<T>,
        local: impl FnOnce(*mut T) -> T,
    ) -> T {
        match self.locate_atomic(call, argument, addr.cast(), size_of::<T>()) {
            Location::Local(at) => {
                let value = local(at.cast());
                // It is complete: what this PE stores later comes after what it has stored (`SHMEMI_COMPLETE_ATOMIC` in
                // `include/shmem/native.h`).
                if cfg!(not(any(target_arch = "x86_64", target_feature = "lse"))) {
                    fence(SeqCst);
                }
                value
            }
            Location::Remote(from) => T::from_bits(call.fetch(&from, operation.for_fabric())),
        }
    }

    /// As [`fetching`](Self::fetching), with the result at `result` after a quiet.
    ///
    /// # Safety
    /// `result` is writable until the quiet.
    #[inline(always)] // so that `local` and the operation are constants
    pub unsafe fn fetching_nbi<T: Atomic>(
        &self,
        call: &Call<'_>,
        (argument, addr): Variable<'_, T>,
        operation: Operation<T>,
        result: *mut T,
        local: impl FnOnce(*mut T) -> T,
    ) {
        match self.locate_atomic(call, argument, addr.cast(), size_of::<T>()) {
            // SAFETY: the caller promises that `result` is writable.
            Location::Local(at) => unsafe { result.write(local(at.cast())) },
            Location::Remote(from) => {
                let operation = operation.for_fabric();
                // SAFETY: the caller promises that `result` is writable until a quiet.
                unsafe { from.fabric.fetch_nbi(from.context, from.at, operation, result.cast()) };
            }
        }
    }

    /// An operation without a result: over the fabric it is complete after a quiet.
    #[inline(always)] // so that `local` and the operation are constants
    pub fn posting<T: Atomic>(
        &self,
        call: &Call<'_>,
        (argument, addr): Variable<'_, T>,
        operation: Operation<T>,
        local: impl FnOnce(*mut T),
    ) {
        let here = self.locate_on_only_node(call, addr.cast(), size_of::<T>());
        let here = here.or_else(|| self.post_anywhere(call, argument, addr.cast(), operation.for_fabric()));
        if let Some(at) = here {
            local(at.cast());
        }
    }

    /// As [`posting`](Self::posting), where PEs may be on several nodes or of other jobs. The word, if a CPU is to do
    /// it here; None: it is posted.
    #[inline(never)] // once for all routines
    fn post_anywhere(
        &self,
        call: &Call<'_>,
        argument: &str,
        addr: *const c_void,
        operation: AtomicOp,
    ) -> Option<*mut u8> {
        match self.resolve(call, argument, addr, operation.width.bytes(), self.atomics_by_fabric()) {
            Location::Local(at) => Some(at),
            Location::Remote(to) => {
                to.fabric.post(to.context, to.at, operation);
                None
            }
        }
    }

    /// Updates a signal, after all that this PE has put to PE `call.pe` in the context, and notifies the
    /// PE's waiters.
    ///
    /// # Safety
    /// `signal` is aligned.
    pub unsafe fn update_signal(&self, call: &Call<'_>, signal: *mut u64, operation: Operation<u64>) {
        // SAFETY: the caller promises that `signal` is aligned.
        unsafe { self.signal_after(call, signal, operation, true) }
    }

    /// Updates a signal after what is complete, as [`update_signal`](Self::update_signal) does.
    ///
    /// # Safety
    /// As there.
    #[cold]
    pub(super) unsafe fn post_signal(&self, call: &Call<'_>, signal: *mut u64, operation: Operation<u64>) {
        // SAFETY: the caller promises that `signal` is aligned.
        unsafe { self.signal_after(call, signal, operation, false) }
    }

    /// As these two; `puts`: what the call has put comes before.
    ///
    /// # Safety
    /// As for them.
    #[inline]
    unsafe fn signal_after(&self, call: &Call<'_>, signal: *mut u64, operation: Operation<u64>, puts: bool) {
        let (addr, bytes) = (signal.cast::<c_void>(), size_of::<u64>());
        match self.locate_atomic(call, "sig_addr", addr, bytes) {
            Location::Local(at) => {
                // SAFETY: `locate_atomic` has found a word mapped, which the caller promises to be
                // aligned.
                let word = unsafe { AtomicU64::from_ptr(at.cast()) };
                update_signal::<Std>(word, operation);
                self.notify(call.pe);
            }
            Location::Remote(to) => {
                // What the same call has put arrives first.
                if puts {
                    to.fabric.fence(to.context);
                }
                to.fabric.post(to.context, to.at, operation.for_fabric());
            }
        }
    }
}

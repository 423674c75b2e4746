//! Atomic memory operations (standard, "Atomic Memory Operations").

use std::ffi::{c_int, c_void};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::transport::atomic::{Operation, Variable};
use ferroshmem_core::wait::polled;
pub use ferroshmem_fabric::Op;
use ferroshmem_runtime as runtime;

pub use ferroshmem_core::transport::atomic::{Atomic, AtomicInt};

/// C name of the routine, context and PE.
type Called = (&'static str, usize, c_int);

/// An operation with a result, and how a CPU does it.
#[inline]
fn fetching<T: Atomic>(
    (name, ctx, pe): Called,
    variable: Variable<'_, T>,
    operation: Operation<T>,
    local: impl FnOnce(*mut T) -> T,
) -> T {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    rt.node.transport.fetching(&call, variable, operation, local)
}

/// An operation without a result, and how a CPU does it.
#[inline]
fn posting<T: Atomic>((name, ctx, pe): Called, dest: *mut T, operation: Operation<T>, local: impl FnOnce(*mut T)) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let transport = &rt.node.transport;
    transport.posting(&call, ("dest", dest), operation, local);
}

/// As [`fetching`], with the result at `result` after a quiet.
///
/// # Safety
/// `result` is writable until the quiet.
#[inline]
unsafe fn fetching_nbi<T: Atomic>(
    (name, ctx, pe): Called,
    variable: Variable<'_, T>,
    result: *mut T,
    operation: Operation<T>,
    local: impl FnOnce(*mut T) -> T,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let transport = &rt.node.transport;
    // SAFETY: the caller promises that `result` is writable until a quiet.
    unsafe { transport.fetching_nbi(&call, variable, operation, result, local) };
}

/// Reads `source` on PE `pe`.
///
/// # Safety
/// For this and all functions below: the address is that of a symmetric, aligned `T`.
pub unsafe fn fetch<T: Atomic>(name: &'static str, ctx: usize, source: *const T, pe: c_int) -> T {
    let what = Operation::FETCH;
    // SAFETY: the transport has found a `T` mapped, which the caller promises to be aligned.
    let value = fetching((name, ctx, pe), ("source", source), what, |at| unsafe { T::fetch(at) });
    polled(source.addr(), value.to_bits());
    value
}

/// Writes `dest` on PE `pe`.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn set<T: Atomic>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
    posting((name, ctx, pe), dest, Operation::with(Op::Write, value), |at| {
        // SAFETY: as in `fetch`.
        unsafe { T::set(at, value) };
    });
}

/// Writes `dest` on PE `pe`; returns what was there.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn swap<T: Atomic>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) -> T {
    let what = Operation::with(Op::Swap, value);
    // SAFETY: as in `fetch`.
    fetching((name, ctx, pe), ("dest", dest), what, |at| unsafe { T::swap(at, value) })
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
    let what = Operation::compare_swap(cond, value);
    // SAFETY: as in `fetch`.
    fetching((name, ctx, pe), ("dest", dest), what, |at| unsafe { T::compare_swap(at, cond, value) })
}

/// Adds 1 to `dest` on PE `pe`; returns what was there.
///
/// # Safety
/// As [`fetch`].
pub unsafe fn fetch_inc<T: AtomicInt>(name: &'static str, ctx: usize, dest: *mut T, pe: c_int) -> T {
    // SAFETY: as in `fetch`.
    unsafe { fetch_add(name, ctx, dest, T::ONE, pe) }
}

macro_rules! updates {
    ($($fetch:ident, $post:ident, $op:ident: $does:literal),*) => {$(
        #[doc = concat!($does, " `dest` on PE `pe`; returns what was there.")]
        ///
        /// # Safety
        /// As [`fetch`].
        pub unsafe fn $fetch<T: AtomicInt>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) -> T {
            let what = Operation::with(Op::$op, value);
            // SAFETY: as in `fetch`.
            fetching((name, ctx, pe), ("dest", dest), what, |at| unsafe { T::$fetch(at, value) })
        }

        #[doc = concat!($does, " `dest` on PE `pe`.")]
        ///
        /// # Safety
        /// As [`fetch`].
        pub unsafe fn $post<T: AtomicInt>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
            posting((name, ctx, pe), dest, Operation::with(Op::$op, value), |at| {
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

macro_rules! non_blocking {
    (
        $($name:ident<$bound:ident>($($value:ident: $t:ty),*)
            as $does:ident($operation:expr) of $argument:ident),* $(,)?
    ) => {$(
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
            unsafe {
                fetching_nbi((name, ctx, pe), at, fetch, $operation, |at| T::$does(at $(, $value)*));
            }
        }
    )*};
}

non_blocking!(
    fetch_nbi<Atomic>() as fetch(Operation::FETCH) of source,
    swap_nbi<Atomic>(value: T) as swap(Operation::with(Op::Swap, value)) of dest,
    compare_swap_nbi<AtomicInt>(cond: T, value: T) as compare_swap(Operation::compare_swap(cond, value)) of dest,
    fetch_add_nbi<AtomicInt>(value: T) as fetch_add(Operation::with(Op::Add, value)) of dest,
    fetch_and_nbi<AtomicInt>(value: T) as fetch_and(Operation::with(Op::And, value)) of dest,
    fetch_or_nbi<AtomicInt>(value: T) as fetch_or(Operation::with(Op::Or, value)) of dest,
    fetch_xor_nbi<AtomicInt>(value: T) as fetch_xor(Operation::with(Op::Xor, value)) of dest,
);

/// As [`fetch_inc`], with the result at `fetch` after a quiet.
///
/// # Safety
/// As [`fetch_add_nbi`].
pub unsafe fn fetch_inc_nbi<T: AtomicInt>(name: &'static str, ctx: usize, fetch: *mut T, dest: *const T, pe: c_int) {
    // SAFETY: the caller promises an aligned `T`, and that `fetch` is valid until a quiet.
    unsafe { fetch_add_nbi(name, ctx, fetch, dest, T::ONE, pe) }
}

/// An operation with a result on a word of so many bytes, 4 or 8; the result is at `fetch` with the request.
///
/// # Safety
/// As [`fetch_add_nbi`], for a word; `fetch` is valid until the request is complete, and `request` can be written.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn fetch_op_nb(
    name: &'static str,
    ctx: usize,
    fetch: *mut c_void,
    dest: *mut c_void,
    operands: (u64, u64),
    operation: Option<(usize, Op)>,
    pe: c_int,
    request: *mut usize,
) {
    // SAFETY: the caller's promises.
    unsafe { request.write(begin((name, ctx, pe), fetch, dest, operands, operation)) }
}

/// As [`fetch_op_nb`]; instead of a request, this PE's own signal is updated once the result is at `fetch`.
///
/// # Safety
/// As [`fetch_op_nb`]; `sig_addr` is a symmetric address.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn fetch_op_signal(
    name: &'static str,
    ctx: usize,
    fetch: *mut c_void,
    dest: *mut c_void,
    operands: (u64, u64),
    operation: Option<(usize, Op)>,
    (sig_addr, signal, sig_op): (*mut u64, u64, c_int),
    pe: c_int,
) {
    let signal = (sig_addr, super::signal::operation(name, sig_op, signal));
    let rt = runtime::get(name);
    // SAFETY: the caller's promises.
    unsafe {
        let request = begin((name, ctx, pe), fetch, dest, operands, operation);
        rt.node.transport.follow_by_signal(&rt.call(name, ctx, pe), request, rt.node.me, signal);
    }
}

/// # Safety
/// As [`fetch_op_nb`].
#[inline(never)] // once for both
unsafe fn begin(
    called: Called,
    fetch: *mut c_void,
    dest: *mut c_void,
    operands: (u64, u64),
    operation: Option<(usize, Op)>,
) -> usize {
    // SAFETY: the caller's promises.
    unsafe {
        match operation {
            Some((4, op)) => by_request::<u32>(called, fetch.cast(), dest.cast(), op, operands),
            Some((_, op)) => by_request::<u64>(called, fetch.cast(), dest.cast(), op, operands),
            None => fatal(
                called.0,
                "datatype is to be SHMEMX_SIGNED or SHMEMX_UNSIGNED, plus 4 or 8, and op SHMEMX_SUM, SHMEMX_AND, \
                    SHMEMX_OR, SHMEMX_XOR, SHMEMX_FETCH, SHMEMX_SWAP or SHMEMX_COMPARE_SWAP: pass one of these",
            ),
        }
    }
}

/// # Safety
/// As [`fetch_op_nb`].
unsafe fn by_request<T: AtomicInt>(
    (name, ctx, pe): Called,
    fetch: *mut T,
    dest: *mut T,
    op: Op,
    (value, cond): (u64, u64),
) -> usize {
    let (value, cond) = (T::from_bits(value), T::from_bits(cond));
    let operation = match op {
        Op::Read => Operation::FETCH,
        Op::CompareSwap => Operation::compare_swap(cond, value),
        op => Operation::with(op, value),
    };
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: as in `fetch`; the caller promises that `fetch` is valid until the request is complete.
    unsafe {
        rt.node.transport.fetching_nb(&call, ("dest", dest), operation, fetch, |at| match op {
            Op::Add => T::fetch_add(at, value),
            Op::And => T::fetch_and(at, value),
            Op::Or => T::fetch_or(at, value),
            Op::Xor => T::fetch_xor(at, value),
            Op::Read => T::fetch(at),
            Op::CompareSwap => T::compare_swap(at, cond, value),
            Op::Swap | Op::Write => T::swap(at, value),
        })
    }
}

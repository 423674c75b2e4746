//! Signals (standard, "Signaling Operations"): put, then tell.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::constants::{SIGNAL_ADD, SIGNAL_SET};
use ferroshmem_fabric::{AtomicOp, Op, Width};

use crate::context::{stream, world_pe};
use crate::fatal::fatal;
use crate::job::region::WaitKind;
use crate::point::{Comparison, wait_for_signal};
use crate::runtime;
use crate::symmetric::Target;
use crate::wait::WaitReason;

/// # Safety
/// `sig_addr` is a symmetric, aligned address.
unsafe fn update(
    name: &'static str,
    ctx: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    let op = match sig_op {
        SIGNAL_SET => Op::Write,
        SIGNAL_ADD => Op::Add,
        _ => fatal(
            name,
            format_args!("sig_op = {sig_op}: give SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"),
        ),
    };
    let (address, bytes) = (sig_addr.cast(), size_of::<u64>());
    let there = match rt.atomic_target(name, "sig_addr", address, bytes, pe) {
        Target::Here(there) => {
            // SAFETY: mapped (checked above), aligned by the caller's promise.
            let word = unsafe { AtomicU64::from_ptr(there.cast()) };
            match op {
                Op::Add => word.fetch_add(signal, Ordering::SeqCst),
                _ => word.swap(signal, Ordering::SeqCst),
            };
            return rt.announce(pe);
        }
        Target::There(there) => there,
    };
    let (fabric, stream) = (rt.link().fabric(), stream(rt, name, ctx));
    // What the same call put before is there first.
    fabric.fence(stream);
    fabric.post(stream, there, AtomicOp::new(op, Width::W64, signal));
}

/// Copies `bytes` bytes to `dest` on PE `pe`, then updates the signal there.
///
/// # Safety
/// `source` is valid for `bytes` bytes; `dest` and `sig_addr` are symmetric addresses.
#[allow(clippy::too_many_arguments)]
pub unsafe fn put_signal(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    // SAFETY: the caller's promise. The update releases what the put wrote.
    unsafe {
        super::rma::put(name, ctx, dest, source, bytes, pe);
        update(name, ctx, sig_addr, signal, sig_op, pe);
    }
}

/// As [`put_signal`]; `source` is not to be changed before a quiet.
///
/// # Safety
/// As [`put_signal`], until then.
#[allow(clippy::too_many_arguments)]
pub unsafe fn put_signal_nbi(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
) {
    // SAFETY: as in `put_signal`.
    unsafe {
        super::rma::put_nbi(name, ctx, dest, source, bytes, pe);
        update(name, ctx, sig_addr, signal, sig_op, pe);
    }
}

/// Sets the signal on PE `pe`.
///
/// # Safety
/// `sig_addr` is a symmetric address.
pub unsafe fn signal_set(
    name: &'static str,
    ctx: usize,
    sig_addr: *mut u64,
    signal: u64,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { update(name, ctx, sig_addr, signal, SIGNAL_SET, pe) }
}

/// Adds to the signal on PE `pe`.
///
/// # Safety
/// `sig_addr` is a symmetric address.
pub unsafe fn signal_add(
    name: &'static str,
    ctx: usize,
    sig_addr: *mut u64,
    signal: u64,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { update(name, ctx, sig_addr, signal, SIGNAL_ADD, pe) }
}

/// The value of this PE's own signal.
///
/// # Safety
/// `sig_addr` is valid and aligned.
pub unsafe fn signal_fetch(name: &'static str, sig_addr: *const u64) -> u64 {
    runtime::get(name);
    // SAFETY: the caller's promise.
    unsafe { AtomicU64::from_ptr(sig_addr.cast_mut()) }.load(Ordering::Acquire)
}

/// Waits until this PE's own signal compares as `cmp` with `value`; the signal's value then.
///
/// # Safety
/// `sig_addr` is valid and aligned.
pub unsafe fn signal_wait_until(
    name: &'static str,
    sig_addr: *mut u64,
    cmp: c_int,
    value: u64,
) -> u64 {
    let rt = runtime::get(name);
    let cmp = Comparison::new(name, cmp);
    if rt.settings.check || sig_addr.is_null() {
        rt.own(name, "sig_addr", sig_addr.cast(), size_of::<u64>());
    }
    // SAFETY: the caller's promise.
    let word = unsafe { AtomicU64::from_ptr(sig_addr) };
    let what = WaitReason::at(WaitKind::Signal, name, sig_addr.addr());
    wait_for_signal(rt.signals(), &what, || {
        Some(word.load(Ordering::Acquire)).filter(|seen| cmp.holds(*seen, value))
    })
}

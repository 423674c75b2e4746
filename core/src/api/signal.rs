//! Signals (standard, "Signaling Operations"): put, then tell.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use super::constants::{SIGNAL_ADD, SIGNAL_SET};
use crate::context::world_pe;
use crate::fatal::fatal;
use crate::job::region::WaitKind;
use crate::point::{Comparison, announce, wait_for_signal};
use crate::runtime;
use crate::wait::What;

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
    let there = rt.remote(name, "sig_addr", sig_addr.cast(), size_of::<u64>(), pe);
    // SAFETY: mapped (checked above), aligned by the caller's promise.
    let word = unsafe { AtomicU64::from_ptr(there.cast()) };
    match sig_op {
        SIGNAL_SET => drop(word.swap(signal, Ordering::SeqCst)),
        SIGNAL_ADD => drop(word.fetch_add(signal, Ordering::SeqCst)),
        _ => fatal(
            name,
            format_args!("sig_op = {sig_op}: give SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD"),
        ),
    }
    announce(&rt.job.control.pe_block(pe).signals);
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
        rt.remote(name, "sig_addr", sig_addr.cast(), size_of::<u64>(), rt.me);
    }
    // SAFETY: the caller's promise.
    let word = unsafe { AtomicU64::from_ptr(sig_addr) };
    let what = What::at(WaitKind::Signal, name, sig_addr.addr());
    wait_for_signal(&rt.job.control.pe_block(rt.me).signals, &what, || {
        Some(word.load(Ordering::Acquire)).filter(|seen| cmp.holds(*seen, value))
    })
}

//! Signals (standard, "Signaling Operations"): put, then notify.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicU64;

use ferroshmem_core::constants::{SIGNAL_ADD, SIGNAL_SET};
use ferroshmem_core::failure::fatal::fatal;
pub use ferroshmem_core::memory::Argument;
use ferroshmem_core::offload;
use ferroshmem_core::point::Comparison;
use ferroshmem_core::transport::atomic::{Operation, signal_value};
use ferroshmem_core::transport::request::COMPLETE;
use ferroshmem_core::wait::record::Condition;
use ferroshmem_core::wait::{WaitReason, signals};
use ferroshmem_fabric::Op;
use ferroshmem_layout::WaitKind;
use ferroshmem_platform::atomic::Std;
use ferroshmem_runtime as runtime;

/// The update that `sig_op` stands for.
pub(super) fn operation(name: &str, sig_op: c_int, signal: u64) -> Operation<u64> {
    match sig_op {
        SIGNAL_SET => Operation::with(Op::Write, signal),
        SIGNAL_ADD => Operation::with(Op::Add, signal),
        _ => fatal(name, format_args!("sig_op = {sig_op}: give SHMEM_SIGNAL_SET or SHMEM_SIGNAL_ADD")),
    }
}

/// Copies `bytes` bytes to `dest` on PE `pe`, then updates the signal there.
///
/// # Safety
/// `source` is valid for `bytes` bytes; `dest` and `sig_addr` are symmetric addresses.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
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
    let rt = runtime::get(name);
    let (call, transport) = (rt.call(name, ctx, pe), &rt.node.transport);
    // SAFETY: the caller promises that `source` is valid for `bytes` bytes, and `sig_addr` aligned. The
    // update releases what the put wrote.
    unsafe {
        transport.put_signalled(&call, dest, source, bytes, false);
        transport.update_signal(&call, sig_addr, operation(name, sig_op, signal));
    }
}

/// As [`put_signal`]; `source` is not to be changed before a quiet.
///
/// # Safety
/// As [`put_signal`], until then.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
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
    let rt = runtime::get(name);
    let (call, transport) = (rt.call(name, ctx, pe), &rt.node.transport);
    let operation = operation(name, sig_op, signal);
    // SAFETY: the caller promises that `source` is valid and unchanged until a quiet, and `sig_addr`
    // aligned.
    unsafe {
        if offload::may_queue(bytes) && transport.queue_signalled(&call, dest, source, bytes, (sig_addr, operation)) {
            return;
        }
        transport.put_signalled(&call, dest, source, bytes, true);
        transport.update_signal(&call, sig_addr, operation);
    }
}

/// Copies `bytes` bytes from `source` on PE `pe` to `dest`, then updates the signal there.
///
/// # Safety
/// `dest` is valid for `bytes` bytes; `source` and `sig_addr` are symmetric addresses.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn get_signal(
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
    let rt = runtime::get(name);
    let (call, transport) = (rt.call(name, ctx, pe), &rt.node.transport);
    let signal = (sig_addr, operation(name, sig_op, signal));
    // SAFETY: the caller promises that `dest` is valid for `bytes` bytes, and `sig_addr` aligned. The bytes have come:
    // they are complete.
    unsafe {
        transport.get(&call, dest, source, bytes);
        transport.follow_by_signal(&call, COMPLETE, call.pe, signal);
    }
}

/// As [`get_signal`]; complete with the request.
///
/// # Safety
/// As [`get_signal`], until then; `request` can be written.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn get_signal_nb(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    sig_addr: *mut u64,
    signal: u64,
    sig_op: c_int,
    pe: c_int,
    request: *mut usize,
) {
    let rt = runtime::get(name);
    let (call, transport) = (rt.call(name, ctx, pe), &rt.node.transport);
    let signal = (sig_addr, operation(name, sig_op, signal));
    // SAFETY: the caller promises that `dest` is valid until the request is complete, and `sig_addr` aligned.
    unsafe { request.write(transport.get_signal_nb(&call, dest, source, bytes, signal)) }
}

/// Sets the signal on PE `pe`.
///
/// # Safety
/// `sig_addr` is a symmetric address.
pub unsafe fn signal_set(name: &'static str, ctx: usize, sig_addr: *mut u64, signal: u64, pe: c_int) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let operation = operation(name, SIGNAL_SET, signal);
    // SAFETY: the caller promises that `sig_addr` is aligned.
    unsafe { rt.node.transport.update_signal(&call, sig_addr, operation) }
}

/// Adds to the signal on PE `pe`.
///
/// # Safety
/// `sig_addr` is a symmetric address.
pub unsafe fn signal_add(name: &'static str, ctx: usize, sig_addr: *mut u64, signal: u64, pe: c_int) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let operation = operation(name, SIGNAL_ADD, signal);
    // SAFETY: the caller promises that `sig_addr` is aligned.
    unsafe { rt.node.transport.update_signal(&call, sig_addr, operation) }
}

/// The value of this PE's own signal. The caller has found the library initialised.
///
/// # Safety
/// `sig_addr` is valid and aligned.
#[inline]
pub unsafe fn signal_fetch(_name: &'static str, sig_addr: *const u64) -> u64 {
    // SAFETY: the caller promises that `sig_addr` is valid and aligned.
    signal_value::<Std>(unsafe { AtomicU64::from_ptr(sig_addr.cast_mut()) })
}

/// Waits until this PE's own signal compares as `cmp` with `value`; the signal's value then.
///
/// # Safety
/// `sig_addr` is valid and aligned.
pub unsafe fn signal_wait_until(name: &'static str, sig_addr: *mut u64, cmp: c_int, value: u64) -> u64 {
    let rt = runtime::get(name);
    let condition = Some(Condition { comparison: cmp, width: size_of::<u64>() as u32, value });
    let cmp = Comparison::new(name, cmp);
    let transport = &rt.node.transport;
    if sig_addr.is_null() {
        let argument = Argument { routine: name, name: "sig_addr" };
        transport.memory.own(argument, sig_addr.cast(), size_of::<u64>());
    }
    // SAFETY: the caller promises that `sig_addr` is valid and aligned.
    let word = unsafe { AtomicU64::from_ptr(sig_addr) };
    let what = WaitReason { condition, ..WaitReason::at(WaitKind::Signal, name, sig_addr.addr()) };
    transport.wait(&what, signals::NOTIFIED, || Some(signal_value::<Std>(word)).filter(|seen| cmp.holds(*seen, value)))
}

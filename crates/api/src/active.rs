//! Collectives over active sets (deprecated by the standard, "Active-set-based
//! collectives"): the team collectives' code over a work array.

use std::ffi::{c_int, c_long, c_void};

use ferroshmem_collective::active_set;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_runtime as runtime;
use ferroshmem_simd::Operator;

use super::Reduce;
use super::on_group::{ComparedArgument, OnGroup, check_same};

fn on_set<const N: usize>(
    name: &'static str,
    (start, log_stride, size): (c_int, c_int, c_int),
    psync: *mut c_long,
    arguments: [ComparedArgument; N],
    body: impl FnOnce(&OnGroup<'_>),
) {
    let rt = runtime::get(name);
    let group = active_set::enter(&rt.node, &rt.teams, &rt.active_sets, name, (start, log_stride, size), psync);
    check_same(&rt.node, &group, &arguments);
    body(&OnGroup { node: &rt.node, group: &group });
}

/// Copies the root's `source` to the `dest` of every other member.
///
/// # Safety
/// For this and all functions below: `dest`, `source` and `psync` are symmetric, valid for
/// the lengths that the standard demands.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn broadcast(
    name: &'static str,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    root: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let same = [
        ComparedArgument::Number("PE_root", root as u64),
        ComparedArgument::Number("the length in bytes", bytes as u64),
        ComparedArgument::Array("dest", dest, bytes),
        ComparedArgument::Array("source", source, bytes),
    ];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, (start, log_stride, size), psync, same, |call| unsafe {
        call.broadcast(dest.cast(), source.cast(), bytes, root, false);
    });
}

/// Gathers all sources, which may differ in length, on every member.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn collect(
    name: &'static str,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let same = [ComparedArgument::Array("dest", dest, 1)];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, (start, log_stride, size), psync, same, |call| unsafe {
        call.collect(dest.cast(), source.cast(), bytes);
    });
}

/// Gathers all sources, of one length, on every member.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn fcollect(
    name: &'static str,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let same = [
        ComparedArgument::Number("the length in bytes", bytes as u64),
        ComparedArgument::Array("dest", dest, bytes),
        ComparedArgument::Array("source", source, bytes),
    ];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, (start, log_stride, size), psync, same, |call| unsafe {
        call.fcollect(dest.cast(), source.cast(), bytes);
    });
}

/// Exchanges blocks of `bytes` bytes between all members.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn alltoall(
    name: &'static str,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let same = [
        ComparedArgument::Number("the length in bytes", bytes as u64),
        ComparedArgument::Array("dest", dest, bytes),
        ComparedArgument::Array("source", source, bytes),
    ];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, (start, log_stride, size), psync, same, |call| unsafe {
        call.alltoall(dest.cast(), source.cast(), bytes);
    });
}

/// Exchanges blocks of `nelems` elements that are `dst` and `sst` elements apart.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn alltoalls(
    name: &'static str,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    nelems: usize,
    elem: usize,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let same = [
        ComparedArgument::Number("nelems", nelems as u64),
        ComparedArgument::Number("dst", dst as u64),
        ComparedArgument::Number("sst", sst as u64),
        ComparedArgument::Array("dest", dest, nelems),
        ComparedArgument::Array("source", source, nelems),
    ];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, (start, log_stride, size), psync, same, |call| unsafe {
        call.alltoalls(dest.cast(), source.cast(), dst, sst, nelems, elem);
    });
}

/// Reduces element by element over all members, with the result on every member.
///
/// # Safety
/// As [`broadcast`].
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    name: &'static str,
    dest: *mut T,
    source: *const T,
    nreduce: c_int,
    start: c_int,
    log_stride: c_int,
    size: c_int,
    psync: *mut c_long,
) {
    let set = (start, log_stride, size);
    let op = Operator::of::<T, Op>();
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    unsafe { reduce_by(name, dest.cast(), source.cast(), nreduce, op, set, psync) }
}

/// [`reduce`], compiled once for all types and operators.
unsafe fn reduce_by(
    name: &'static str,
    dest: *mut u8,
    source: *const u8,
    nreduce: c_int,
    op: &'static Operator,
    set: (c_int, c_int, c_int),
    psync: *mut c_long,
) {
    let Ok(n) = usize::try_from(nreduce) else {
        fatal(name, format_args!("nreduce = {nreduce} is negative: give 0 or more"));
    };
    let same = [
        ComparedArgument::Number("nreduce", nreduce as u64),
        ComparedArgument::Array("dest", dest.cast(), n),
        ComparedArgument::Array("source", source.cast(), n),
    ];
    // SAFETY: the caller promises symmetric arrays, valid for the lengths given.
    on_set(name, set, psync, same, |call| unsafe {
        call.reduce(dest, source, n, op);
    });
}

/// Completes this PE's puts and synchronises the set.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn barrier(name: &'static str, start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
    runtime::get(name).node.transport.quiet_default();
    on_set(name, (start, log_stride, size), psync, [], |call| {
        call.group.sync();
    });
}

/// Synchronises the set.
///
/// # Safety
/// As [`broadcast`].
pub unsafe fn sync(name: &'static str, start: c_int, log_stride: c_int, size: c_int, psync: *mut c_long) {
    on_set(name, (start, log_stride, size), psync, [], |call| {
        call.group.sync();
    });
}

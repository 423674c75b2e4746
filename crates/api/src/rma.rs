//! Remote memory access (standard, "Remote Memory Access Routines"): on a node a put is a copy
//! into another PE's memory, a get a copy out of it, both complete on return. To other nodes
//! they travel over the fabric, where the non-blocking forms are complete after a quiet.

use std::ffi::{c_int, c_void};

use ferroshmem_core::offload;
use ferroshmem_core::offload::Owner;
use ferroshmem_core::wait::polled;
use ferroshmem_fabric::Blocks;
use ferroshmem_runtime as runtime;

/// Copies `bytes` bytes within this process's windows, for calls that are inlined into programs. What this
/// PE stores later comes after it. The arrays may overlap. Returns `dest`.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
pub unsafe extern "C" fn copy(dest: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
    unsafe { offload::copy(dest.cast(), source.cast(), bytes) };
    dest
}

/// As [`copy`], but complete after a quiet of any context.
///
/// # Safety
/// As [`copy`]; until the quiet, `source` does not change and `dest` is not relied on.
#[inline]
pub unsafe extern "C" fn copy_nbi(dest: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes until the quiet.
    unsafe { offload::copy_nbi(Owner::UNKNOWN, dest.cast(), source.cast(), bytes) };
    dest
}

/// Copies `bytes` bytes from `source` to `dest` on PE `pe`.
///
/// # Safety
/// `source` is valid for `bytes` bytes; `dest` is a symmetric address.
#[inline]
pub unsafe fn put(name: &'static str, ctx: usize, dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `source` is valid for `bytes` bytes.
    unsafe { rt.node.transport.put(&call, dest, source, bytes) }
}

/// Copies as [`put`] does; `source` is not to be changed before a quiet.
///
/// # Safety
/// As [`put`], until then.
#[inline]
pub unsafe fn put_nbi(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `source` is valid, and unchanged until a quiet.
    unsafe { rt.node.transport.put_nbi(&call, dest, source, bytes) }
}

/// Copies `bytes` bytes from `source` on PE `pe` to `dest`.
///
/// # Safety
/// `dest` is valid for `bytes` bytes; `source` is a symmetric address.
#[inline]
pub unsafe fn get(name: &'static str, ctx: usize, dest: *mut c_void, source: *const c_void, bytes: usize, pe: c_int) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `dest` is valid for `bytes` bytes.
    unsafe { rt.node.transport.get(&call, dest, source, bytes) };
    if (1..=size_of::<u64>()).contains(&bytes) {
        // SAFETY: `bytes` bytes, which the get has written.
        polled(source.addr(), unsafe { word(dest.cast(), bytes) });
    }
}

/// The `bytes` bytes at `from`, at most 8, as a number.
///
/// # Safety
/// They are readable, and have values.
#[inline]
unsafe fn word(from: *const u8, bytes: usize) -> u64 {
    let mut word = [0; size_of::<u64>()];
    // SAFETY: the caller promises it of `from`; the word has as many bytes.
    unsafe { from.copy_to_nonoverlapping(word.as_mut_ptr(), bytes) };
    u64::from_ne_bytes(word)
}

/// Copies as [`get`] does; `dest` has the values after a quiet.
///
/// # Safety
/// As [`get`], until then.
#[inline]
pub unsafe fn get_nbi(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `dest` is valid until a quiet.
    unsafe { rt.node.transport.get_nbi(&call, dest, source, bytes) }
}

/// Copies as [`put`] does; complete with the request.
///
/// # Safety
/// As [`put`], until then; `request` can be written.
pub unsafe fn put_nb(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
    request: *mut usize,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `source` is valid, and unchanged until the request is complete.
    unsafe { request.write(rt.node.transport.put_nb(&call, dest, source, bytes)) }
}

/// Copies as [`get`] does; complete with the request.
///
/// # Safety
/// As [`get`], until then; `request` can be written.
pub unsafe fn get_nb(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
    request: *mut usize,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `dest` is valid until the request is complete.
    unsafe { request.write(rt.node.transport.get_nb(&call, dest, source, bytes)) }
}

/// Stores `value` to `dest` on PE `pe`.
///
/// # Safety
/// `dest` is a symmetric address of a `T`.
#[inline]
pub unsafe fn p<T: Copy>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `dest` is the address of a `T`, hence aligned.
    unsafe { rt.node.transport.store(&call, dest, value) }
}

/// Loads `source` on PE `pe`.
///
/// # Safety
/// `source` is a symmetric address of a `T`.
#[inline]
pub unsafe fn g<T: Copy>(name: &'static str, ctx: usize, source: *const T, pe: c_int) -> T {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    // SAFETY: the caller promises that `source` is the address of a `T`, which all PEs have.
    let value = unsafe { rt.node.transport.load(&call, source) };
    if size_of::<T>() <= size_of::<u64>() {
        // SAFETY: types of C of at most 8 bytes have no padding.
        let bits = unsafe { word((&raw const value).cast(), size_of::<T>()) };
        polled(source.addr(), bits);
    }
    value
}

/// The blocks of a strided call: `count` blocks of `block` elements of `elem` bytes, whose starts are
/// so many elements apart in this PE's array and in the symmetric one.
fn blocks(local: isize, remote: isize, block: usize, count: usize, elem: usize) -> Blocks {
    Blocks { bytes: block * elem, count, local_stride: local * elem as isize, remote_stride: remote * elem as isize }
}

/// Strided put: `nelems` elements of `elem` bytes, `dst` and `sst` elements apart.
///
/// # Safety
/// `source` is valid for all elements at their stride; `dest` is a symmetric address.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn iput(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    nelems: usize,
    elem: usize,
    pe: c_int,
) {
    // SAFETY: the caller promises that `source` is valid for all elements.
    unsafe { ibput(name, ctx, dest, source, dst, sst, 1, nelems, elem, pe) }
}

/// Strided get, as [`iput`].
///
/// # Safety
/// `dest` is valid for all elements at their stride; `source` is a symmetric address.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
pub unsafe fn iget(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    nelems: usize,
    elem: usize,
    pe: c_int,
) {
    // SAFETY: the caller promises that `dest` is valid for all elements.
    unsafe { ibget(name, ctx, dest, source, dst, sst, 1, nelems, elem, pe) }
}

/// Block-strided put: `nblocks` blocks of `bsize` elements, whose starts are `dst` and
/// `sst` elements apart.
///
/// # Safety
/// `source` is valid for all blocks; `dest` is a symmetric address.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
#[inline(never)] // once for all types
pub unsafe fn ibput(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    elem: usize,
    pe: c_int,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let blocks = blocks(sst, dst, bsize, nblocks, elem);
    // SAFETY: the caller promises that `source` is valid for all blocks.
    unsafe { rt.node.transport.put_blocks(&call, dest, source, blocks) }
}

/// Block-strided get, as [`ibput`].
///
/// # Safety
/// `dest` is valid for all blocks; `source` is a symmetric address.
#[allow(clippy::too_many_arguments, reason = "C's signature")]
#[inline(never)] // once for all types
pub unsafe fn ibget(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    dst: isize,
    sst: isize,
    bsize: usize,
    nblocks: usize,
    elem: usize,
    pe: c_int,
) {
    let rt = runtime::get(name);
    let call = rt.call(name, ctx, pe);
    let blocks = blocks(dst, sst, bsize, nblocks, elem);
    // SAFETY: the caller promises that `dest` is valid for all blocks.
    unsafe { rt.node.transport.get_blocks(&call, dest, source, blocks) }
}

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

/// Transfers that may go on after the call, until a quiet or with a request.
macro_rules! begun {
    ($($(#[$doc:meta])* $name:ident($($request:ident)?);)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As [`put`] or [`get`], until the transfer is complete; a request can be written.
        #[inline]
        pub unsafe fn $name(
            name: &'static str,
            ctx: usize,
            dest: *mut c_void,
            source: *const c_void,
            bytes: usize,
            pe: c_int,
            $($request: *mut usize)?
        ) {
            let rt = runtime::get(name);
            let call = rt.call(name, ctx, pe);
            // SAFETY: the caller promises that its array is valid, and unchanged until the transfer is complete, and
            // that a request can be written.
            unsafe { $($request.write)?(rt.node.transport.$name(&call, dest, source, bytes)) }
        }
    )*};
}

begun! {
    /// Copies as [`put`] does; `source` is not to be changed before a quiet.
    put_nbi();
    /// Copies as [`get`] does; `dest` has the values after a quiet.
    get_nbi();
    /// Copies as [`put`] does; complete with the request.
    put_nb(request);
    /// Copies as [`get`] does; complete with the request.
    get_nb(request);
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

/// Strided calls, of single elements and of blocks: which method of the transport moves them, and the order of the
/// strides, this PE's first.
macro_rules! strided {
    ($($one:ident, $blocks:ident: $does:literal by $method:ident, $order:expr;)*) => {$(
        #[doc = concat!("Strided ", $does, ": `nelems` elements of `elem` bytes, `dst` and `sst` elements apart.")]
        ///
        /// # Safety
        /// This PE's array is valid for all elements at their stride; the other one is a symmetric address.
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        pub unsafe fn $one(
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
            // SAFETY: the caller promises that this PE's array is valid for all elements.
            unsafe { $blocks(name, ctx, dest, source, dst, sst, 1, nelems, elem, pe) }
        }

        #[doc = concat!("Block-strided ", $does, ": `nblocks` blocks of `bsize` elements, whose starts are `dst` and \
            `sst` elements apart.")]
        ///
        /// # Safety
        /// This PE's array is valid for all blocks; the other one is a symmetric address.
        #[allow(clippy::too_many_arguments, reason = "C's signature")]
        #[inline(never)] // once for all types
        pub unsafe fn $blocks(
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
            let (local, remote) = ($order)(dst, sst);
            let blocks = blocks(local, remote, bsize, nblocks, elem);
            // SAFETY: the caller promises that this PE's array is valid for all blocks.
            unsafe { rt.node.transport.$method(&call, dest, source, blocks) }
        }
    )*};
}

strided! {
    iput, ibput: "put" by put_blocks, |dst, sst| (sst, dst);
    iget, ibget: "get" by get_blocks, |dst, sst| (dst, sst);
}

//! Remote memory access (standard, "Remote Memory Access Routines"): on a node a put is a copy
//! into another PE's window, a get a copy out of it, both complete on return. To other nodes
//! they travel over the fabric, where the non-blocking forms are complete after a quiet.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use ferroshmem_fabric as fabric;

use crate::context::{stream, world_pe};
use crate::fatal::fatal;
use crate::runtime;
use crate::symmetric::Target;

/// Copies `bytes` bytes from `source` to `dest` on PE `pe`.
///
/// # Safety
/// `source` is valid for `bytes` bytes; `dest` is a symmetric address.
#[inline]
pub unsafe fn put(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { transfer_to(name, ctx, dest, source, bytes, pe, true) }
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
    // SAFETY: the caller's promise.
    unsafe { transfer_to(name, ctx, dest, source, bytes, pe, false) }
}

/// # Safety
/// As [`put`]; if not `blocking`, as [`put_nbi`].
#[inline]
unsafe fn transfer_to(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
    blocking: bool,
) {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    if bytes == 0 {
        return;
    }
    match rt.target(name, "dest", dest, bytes, pe) {
        // SAFETY: the window is mapped (checked above), `source` by the caller's promise.
        Target::Here(there) => unsafe { std::ptr::copy(source.cast::<u8>(), there, bytes) },
        Target::There(there) => {
            let (fabric, stream) = (rt.link().fabric(), stream(rt, name, ctx));
            // SAFETY: the caller's promise.
            unsafe {
                if blocking {
                    fabric.put(stream, there, source.cast(), bytes);
                } else {
                    fabric.put_nbi(stream, there, source.cast(), bytes);
                }
            }
        }
    }
}

/// Copies `bytes` bytes from `source` on PE `pe` to `dest`.
///
/// # Safety
/// `dest` is valid for `bytes` bytes; `source` is a symmetric address.
#[inline]
pub unsafe fn get(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
) {
    // SAFETY: the caller's promise.
    unsafe { transfer_from(name, ctx, dest, source, bytes, pe, true) }
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
    // SAFETY: the caller's promise.
    unsafe { transfer_from(name, ctx, dest, source, bytes, pe, false) }
}

/// # Safety
/// As [`get`]; if not `blocking`, as [`get_nbi`].
#[inline]
unsafe fn transfer_from(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    bytes: usize,
    pe: c_int,
    blocking: bool,
) {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    if bytes == 0 {
        return;
    }
    match rt.target(name, "source", source, bytes, pe) {
        // SAFETY: as in `transfer_to`.
        Target::Here(there) => unsafe { std::ptr::copy(there, dest.cast::<u8>(), bytes) },
        Target::There(there) => {
            let (fabric, stream) = (rt.link().fabric(), stream(rt, name, ctx));
            let _shown = blocking.then(|| rt.show_wait(name));
            // SAFETY: the caller's promise.
            unsafe {
                if blocking {
                    fabric.get(stream, dest.cast(), there, bytes);
                } else {
                    fabric.get_nbi(stream, dest.cast(), there, bytes);
                }
            }
        }
    }
}

/// Stores `value` to `dest` on PE `pe`.
///
/// # Safety
/// `dest` is a symmetric address of a `T`.
#[inline]
pub unsafe fn p<T: Copy>(name: &'static str, ctx: usize, dest: *mut T, value: T, pe: c_int) {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    let bytes = size_of::<T>();
    match rt.target(name, "dest", dest.cast(), bytes, pe) {
        // SAFETY: mapped (checked above). Volatile: another PE may poll it.
        Target::Here(there) => unsafe { there.cast::<T>().write_volatile(value) },
        Target::There(there) => {
            let stream = stream(rt, name, ctx);
            let value = (&raw const value).cast();
            // SAFETY: `value` is live, and may be reused on return.
            unsafe { rt.link().fabric().put(stream, there, value, bytes) };
        }
    }
}

/// Loads `source` on PE `pe`.
///
/// # Safety
/// `source` is a symmetric address of a `T`.
#[inline]
pub unsafe fn g<T: Copy>(name: &'static str, ctx: usize, source: *const T, pe: c_int) -> T {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    let bytes = size_of::<T>();
    match rt.target(name, "source", source.cast(), bytes, pe) {
        // SAFETY: mapped (checked above). Volatile: another PE may change it.
        Target::Here(there) => unsafe { there.cast::<T>().read_volatile() },
        Target::There(there) => {
            let mut value = MaybeUninit::<T>::uninit();
            let stream = stream(rt, name, ctx);
            let _shown = rt.show_wait(name);
            // SAFETY: all bytes of `value` are written, from a `T`.
            unsafe {
                let to = value.as_mut_ptr().cast();
                rt.link().fabric().get(stream, to, there, bytes);
                value.assume_init()
            }
        }
    }
}

/// The lowest byte and the number of bytes that `n` blocks of `block` elements cover, each
/// `stride` elements after the one before.
fn extent(n: usize, block: usize, stride: isize, elem: usize) -> (isize, usize) {
    let reach = stride * (n as isize - 1);
    let elements = reach.unsigned_abs() + block;
    (reach.min(0) * elem as isize, elements * elem)
}

/// Which side of a strided transfer is on the other PE.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Put,
    Get,
}

/// The shape of a strided transfer, in elements.
struct Blocks {
    dest_stride: isize,
    source_stride: isize,
    block: usize,
    n: usize,
    elem: usize,
}

/// # Safety
/// The local side is valid for all blocks; the other is symmetric.
unsafe fn strided(
    name: &'static str,
    ctx: usize,
    dest: *mut c_void,
    source: *const c_void,
    shape: &Blocks,
    pe: c_int,
    direction: Direction,
) {
    let rt = runtime::get(name);
    let pe = world_pe(rt, name, ctx, pe);
    if shape.n == 0 || shape.block == 0 {
        return;
    }
    let (argument, addr, stride) = match direction {
        Direction::Put => ("dest", dest.cast_const(), shape.dest_stride),
        Direction::Get => ("source", source, shape.source_stride),
    };
    if stride == 0 && rt.settings.check {
        fatal(name, format_args!("the stride of {argument} is 0"));
    }
    let (below, bytes) = extent(shape.n, shape.block, stride, shape.elem);
    let block = shape.block * shape.elem;
    let step = |stride: isize| stride * shape.elem as isize;
    let (to_step, from_step) = (step(shape.dest_stride), step(shape.source_stride));
    let lowest = addr.wrapping_byte_offset(below);
    let there = match rt.target(name, argument, lowest, bytes, pe) {
        Target::Here(lowest) => lowest.wrapping_offset(-below),
        Target::There(mut there) => {
            there.offset = there.offset.wrapping_add_signed(-below);
            let (fabric, stream) = (rt.link().fabric(), stream(rt, name, ctx));
            let (local_stride, remote_stride) = match direction {
                Direction::Put => (from_step, to_step),
                Direction::Get => (to_step, from_step),
            };
            let blocks = fabric::Blocks {
                bytes: block,
                count: shape.n,
                local_stride,
                remote_stride,
            };
            // SAFETY: all blocks of both sides are within the extents checked or promised.
            unsafe {
                match direction {
                    Direction::Put => fabric.put_blocks(stream, there, source.cast(), blocks),
                    Direction::Get => fabric.get_blocks(stream, dest.cast(), there, blocks),
                }
            }
            return;
        }
    };
    let (mut to, mut from) = match direction {
        Direction::Put => (there, source.cast::<u8>()),
        Direction::Get => (dest.cast::<u8>(), there.cast_const()),
    };
    for _ in 0..shape.n {
        // SAFETY: block i of both sides, within the extents checked or promised.
        unsafe {
            match block {
                1 => to.copy_from(from, 1),
                2 => to.cast::<[u8; 2]>().copy_from(from.cast(), 1),
                4 => to.cast::<[u8; 4]>().copy_from(from.cast(), 1),
                8 => to.cast::<[u8; 8]>().copy_from(from.cast(), 1),
                16 => to.cast::<[u8; 16]>().copy_from(from.cast(), 1),
                n => to.copy_from(from, n),
            }
        }
        to = to.wrapping_offset(to_step);
        from = from.wrapping_offset(from_step);
    }
}

/// Strided put: `nelems` elements of `elem` bytes, `dst` and `sst` elements apart.
///
/// # Safety
/// `source` is valid for all elements at their stride; `dest` is a symmetric address.
#[allow(clippy::too_many_arguments)]
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
    // SAFETY: the caller's promise.
    unsafe { ibput(name, ctx, dest, source, dst, sst, 1, nelems, elem, pe) }
}

/// Strided get, as [`iput`].
///
/// # Safety
/// `dest` is valid for all elements at their stride; `source` is a symmetric address.
#[allow(clippy::too_many_arguments)]
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
    // SAFETY: the caller's promise.
    unsafe { ibget(name, ctx, dest, source, dst, sst, 1, nelems, elem, pe) }
}

/// Block-strided put: `nblocks` blocks of `bsize` elements, whose starts are `dst` and
/// `sst` elements apart.
///
/// # Safety
/// `source` is valid for all blocks; `dest` is a symmetric address.
#[allow(clippy::too_many_arguments)]
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
    let shape = Blocks {
        dest_stride: dst,
        source_stride: sst,
        block: bsize,
        n: nblocks,
        elem,
    };
    // SAFETY: the caller's promise.
    unsafe { strided(name, ctx, dest, source, &shape, pe, Direction::Put) }
}

/// Block-strided get, as [`ibput`].
///
/// # Safety
/// `dest` is valid for all blocks; `source` is a symmetric address.
#[allow(clippy::too_many_arguments)]
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
    let shape = Blocks {
        dest_stride: dst,
        source_stride: sst,
        block: bsize,
        n: nblocks,
        elem,
    };
    // SAFETY: the caller's promise.
    unsafe { strided(name, ctx, dest, source, &shape, pe, Direction::Get) }
}

#[cfg(test)]
mod tests {
    use super::extent;

    #[test]
    fn extents_of_strides() {
        assert_eq!(extent(4, 1, 3, 8), (0, 80));
        assert_eq!(extent(4, 2, -3, 8), (-72, 88));
        assert_eq!(extent(1, 5, 100, 4), (0, 20));
    }
}

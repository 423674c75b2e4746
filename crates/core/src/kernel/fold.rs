//! Folding any number of sources into any number of destinations.

use std::mem::MaybeUninit;

use super::copy::stream_unordered;
use super::ops::{Dests, Reduce, Sources};
use super::pass::{Pass, pass};
use super::vector::{Combine, stream_fence};

/// Sources of a pass. With fewer, what was folded is stored and loaded more often; with many
/// more, the prefetchers do not follow, and memory is read at less than its speed.
const GROUP: usize = 16;
/// Destinations that a pass stores to. For more, elements go through the first-level cache.
const FEW: usize = 4;
/// Bytes of each source that are folded at a time if there is more than one pass: enough for
/// prefetchers to pay, little enough for the first-level cache.
const BLOCK: usize = 8192;

/// Where folded elements are kept until they are stored.
#[repr(C, align(64))]
pub(super) struct Block([MaybeUninit<u8>; BLOCK]);

impl Block {
    /// One that holds nothing.
    #[inline]
    pub(super) fn new() -> Self {
        Self([MaybeUninit::uninit(); BLOCK])
    }

    /// Where it begins.
    #[inline]
    pub(super) fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// [`Reduce::fold`] of elements that are combined as `R`.
///
/// # Safety
/// As for `fold`.
#[inline]
pub(super) unsafe fn fold<R: Combine<Op>, Op>(
    dests: Dests<u8>,
    sources: Sources<u8>,
    n: usize,
    streaming: bool,
) {
    let ((dest, dest_count), (source, count)) = (dests, sources);
    // SAFETY: the caller's promise.
    unsafe {
        if n == 1 {
            let mut acc = source(0).cast::<R>().read();
            for k in 1..count {
                acc = R::combine(acc, source(k).cast::<R>().read());
            }
            for k in 0..dest_count {
                dest(k).cast::<R>().write(acc);
            }
        } else if count <= GROUP && dest_count <= FEW && !streaming {
            at_once(pass::<R, Op>, dests, sources, n);
        } else {
            by_blocks(pass::<R, Op>, size_of::<R>(), dests, sources, n, streaming);
        }
    }
}

/// [`Reduce::combine`] of elements `R`.
///
/// # Safety
/// As for `combine`.
#[inline]
pub(super) unsafe fn two<R: Combine<Op>, Op>(dest: *mut R, a: *const R, b: *const R, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if n == 1 {
            dest.write(R::combine(a.read(), b.read()));
        } else {
            pass::<R, Op>(&[dest.cast()], &[a.cast(), b.cast()], n);
        }
    }
}

/// In one pass over all.
///
/// # Safety
/// As for `fold`; there are at most [`FEW`] destinations and [`GROUP`] sources.
unsafe fn at_once(
    pass: Pass,
    (dest, dest_count): Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
) {
    let mut from = [std::ptr::null(); GROUP];
    for (k, from) in from[..count].iter_mut().enumerate() {
        *from = source(k);
    }
    let mut to = [std::ptr::null_mut(); FEW];
    for (k, to) in to[..dest_count].iter_mut().enumerate() {
        *to = dest(k);
    }
    // SAFETY: the caller's promise.
    unsafe { pass(&to[..dest_count], &from[..count], n) }
}

/// Block by block, with groups of about equally many sources.
///
/// # Safety
/// As for `fold`; elements are of `size` bytes.
unsafe fn by_blocks(
    pass: Pass,
    size: usize,
    dests: Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
    streaming: bool,
) {
    let mut block = Block::new();
    let acc = block.start();
    let group = count.div_ceil(count.div_ceil(GROUP));
    for start in (0..n).step_by(BLOCK / size) {
        let len = (BLOCK / size).min(n - start);
        for first in (0..count).step_by(group) {
            // What earlier groups came to is the first operand.
            let mut from = [acc.cast_const(); 1 + GROUP];
            let some = group.min(count - first);
            for (k, from) in from[1..=some].iter_mut().enumerate() {
                *from = source(first + k).wrapping_add(start * size);
            }
            let from = &from[usize::from(first == 0)..=some];
            // SAFETY: the caller's promise; the block has room.
            unsafe { pass(&[acc], from, len) };
        }
        // SAFETY: as above.
        unsafe { spread(acc, dests, start * size, len * size, streaming) };
    }
    if streaming {
        stream_fence();
    }
}

/// Copies `len` bytes to all destinations, from byte `start` of those on. If `streaming`, a
/// fence must follow.
///
/// # Safety
/// The destinations are valid for `start + len` bytes.
pub(super) unsafe fn spread(
    folded: *const u8,
    (dest, dest_count): Dests<u8>,
    start: usize,
    len: usize,
    streaming: bool,
) {
    for k in 0..dest_count {
        // SAFETY: the caller's promise.
        unsafe {
            let dest = dest(k).add(start);
            if streaming {
                stream_unordered(dest, folded, len);
            } else {
                dest.copy_from_nonoverlapping(folded, len);
            }
        }
    }
}

/// [`Reduce::fold`] by [`Reduce::combine`], for types that have no pass.
///
/// # Safety
/// As for `fold`.
pub(super) unsafe fn by_combine<T: Reduce<Op>, Op>(
    dests: Dests<u8>,
    (source, count): Sources<u8>,
    n: usize,
    streaming: bool,
) {
    let size = size_of::<T>();
    let mut block = Block::new();
    let acc: *mut T = block.start().cast();
    for start in (0..n).step_by(BLOCK / size) {
        let len = (BLOCK / size).min(n - start);
        // SAFETY: the caller's promise; the block has room.
        unsafe {
            let place = |k| source(k).cast::<T>().add(start);
            let mut folded = place(0);
            for k in 1..count {
                T::combine(acc, folded, place(k), len);
                folded = acc;
            }
            if count == 1 {
                acc.copy_from_nonoverlapping(folded, len);
            }
            spread(acc.cast(), dests, start * size, len * size, streaming);
        }
    }
    if streaming {
        stream_fence();
    }
}

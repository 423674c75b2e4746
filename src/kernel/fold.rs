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
pub struct Block([MaybeUninit<u8>; BLOCK]);

impl Block {
    /// One that holds nothing.
    #[inline]
    pub fn new() -> Self {
        Self([MaybeUninit::uninit(); BLOCK])
    }

    /// Where it begins.
    #[inline]
    pub fn start<T>(&mut self) -> *mut T {
        self.0.as_mut_ptr().cast()
    }

    /// Number of elements that it holds.
    pub const fn room<T>() -> usize {
        BLOCK / size_of::<T>()
    }
}

/// [`Reduce::fold`] for a type `T` whose elements are combined as if they were `R`.
///
/// # Safety
/// As for `fold`.
#[inline]
pub unsafe fn fold<T: Copy, R: Combine<Op>, Op>(
    dests: Dests<T>,
    sources: Sources<T>,
    n: usize,
    streaming: bool,
) {
    const { assert!(size_of::<T>() == size_of::<R>() && align_of::<T>() == align_of::<R>()) };
    // SAFETY: the caller's promise; both types are plain data of the same size.
    unsafe {
        if n == 1 {
            let mut acc = sources.0(0).cast::<R>().read();
            for k in 1..sources.1 {
                acc = R::combine(acc, sources.0(k).cast::<R>().read());
            }
            for k in 0..dests.1 {
                dests.0(k).cast::<R>().write(acc);
            }
        } else if sources.1 <= GROUP && dests.1 <= FEW && !streaming {
            at_once(pass::<R, Op>, dests, sources, n);
        } else {
            by_blocks(pass::<R, Op>, dests, sources, n, streaming);
        }
    }
}

/// [`Reduce::combine`] of elements `R`.
///
/// # Safety
/// As for `combine`.
#[inline]
pub unsafe fn two<R: Combine<Op>, Op>(dest: *mut R, a: *const R, b: *const R, n: usize) {
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
unsafe fn at_once<T>(pass: Pass, dests: Dests<T>, sources: Sources<T>, n: usize) {
    let mut from = [std::ptr::null(); GROUP];
    for (k, from) in from[..sources.1].iter_mut().enumerate() {
        *from = sources.0(k).cast();
    }
    let mut to = [std::ptr::null_mut(); FEW];
    for (k, to) in to[..dests.1].iter_mut().enumerate() {
        *to = dests.0(k).cast();
    }
    // SAFETY: the caller's promise.
    unsafe { pass(&to[..dests.1], &from[..sources.1], n) }
}

/// Block by block, with groups of about equally many sources.
///
/// # Safety
/// As for `fold`.
unsafe fn by_blocks<T>(
    pass: Pass,
    dests: Dests<T>,
    sources: Sources<T>,
    n: usize,
    streaming: bool,
) {
    let mut block = Block::new();
    let acc: *mut u8 = block.start();
    let group = sources.1.div_ceil(sources.1.div_ceil(GROUP));
    for start in (0..n).step_by(Block::room::<T>()) {
        let len = Block::room::<T>().min(n - start);
        for first in (0..sources.1).step_by(group) {
            // What earlier groups came to is the first operand.
            let mut from = [acc.cast_const(); 1 + GROUP];
            let some = group.min(sources.1 - first);
            for (k, from) in from[1..=some].iter_mut().enumerate() {
                *from = sources.0(first + k).wrapping_add(start).cast();
            }
            let from = &from[usize::from(first == 0)..=some];
            // SAFETY: the caller's promise; the block has room.
            unsafe { pass(&[acc], from, len) };
        }
        // SAFETY: as above.
        unsafe { spread(acc.cast(), dests, start, len, streaming) };
    }
    if streaming {
        stream_fence();
    }
}

/// Copies `len` folded elements to all destinations, from element `start` on. If `streaming`,
/// a fence must follow.
///
/// # Safety
/// The destinations are valid for `start + len` elements.
pub unsafe fn spread<T>(
    folded: *const T,
    dests: Dests<T>,
    start: usize,
    len: usize,
    streaming: bool,
) {
    for k in 0..dests.1 {
        // SAFETY: the caller's promise.
        unsafe {
            let dest = dests.0(k).add(start);
            if streaming {
                stream_unordered(dest.cast(), folded.cast(), len * size_of::<T>());
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
pub unsafe fn by_combine<T: Reduce<Op>, Op>(
    dests: Dests<T>,
    sources: Sources<T>,
    n: usize,
    streaming: bool,
) {
    let mut block = Block::new();
    let acc: *mut T = block.start();
    for start in (0..n).step_by(Block::room::<T>()) {
        let len = Block::room::<T>().min(n - start);
        // SAFETY: the caller's promise; the block has room.
        unsafe {
            let mut folded = sources.0(0).add(start);
            for k in 1..sources.1 {
                T::combine(acc, folded, sources.0(k).add(start), len);
                folded = acc;
            }
            if sources.1 == 1 {
                acc.copy_from_nonoverlapping(folded, len);
            }
            spread(acc, dests, start, len, streaming);
        }
    }
    if streaming {
        stream_fence();
    }
}

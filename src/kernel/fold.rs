//! Folding many sources into many destinations.

use std::mem::MaybeUninit;

use super::ops::{Dests, Reduce, Sources};
use super::{copy, stream};

/// Bytes folded at a time: the accumulator stays in the first-level cache.
const BLOCK: usize = 4096;

#[repr(align(64))]
struct Block([MaybeUninit<u8>; BLOCK]);

/// [`Reduce::fold`] by [`Reduce::combine`], block by block.
///
/// # Safety
/// As for `fold`.
pub unsafe fn by_combine<T: Reduce<Op>, Op>(
    dests: Dests<T>,
    sources: Sources<T>,
    n: usize,
    streaming: bool,
) {
    let mut block = Block([MaybeUninit::uninit(); BLOCK]);
    let acc = block.0.as_mut_ptr().cast::<T>();
    let step = BLOCK / size_of::<T>();
    let store = if streaming { stream } else { copy };
    for start in (0..n).step_by(step) {
        let len = step.min(n - start);
        // SAFETY: the caller's promise; the block has room for `len` elements, which are
        // written before they are read.
        unsafe {
            let first = sources.0(0).add(start);
            if sources.1 == 1 {
                copy(acc.cast(), first.cast(), len * size_of::<T>());
            } else {
                T::combine(acc, first, sources.0(1).add(start), len);
                for k in 2..sources.1 {
                    T::combine(acc, acc, sources.0(k).add(start), len);
                }
            }
            for k in 0..dests.1 {
                store(
                    dests.0(k).add(start).cast(),
                    acc.cast(),
                    len * size_of::<T>(),
                );
            }
        }
    }
}

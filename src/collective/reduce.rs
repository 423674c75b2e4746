//! Reductions: each member reduces its own slice of the elements straight from all
//! sources and stores the result to all destinations.
//!
//! A slice is read and written by one member alone, so `dest == source` is safe. Sources
//! are taken in the members' order: same inputs and members, same bits.

use std::mem::MaybeUninit;

use super::ops::Reduce;
use super::{places, slice_of};
use crate::group::Group;

/// Bytes reduced at a time: the accumulator stays in the first-level cache.
const CHUNK: usize = 4096;

/// `dest[i] = source[i] of member 0 op … op source[i] of the last`, on every member.
///
/// # Safety
/// `dest` and `source` are valid for `n` elements on every member, and aligned.
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    group: &Group<'_>,
    dest: *mut T,
    source: *const T,
    n: usize,
) {
    group.sync();
    let mine = slice_of(group, n, size_of::<T>());
    if !mine.is_empty() {
        let sources = places(group, "source", source, n);
        let dests = places(group, "dest", dest, n);
        let chunk = (CHUNK / size_of::<T>()).max(1);
        for start in mine.clone().step_by(chunk) {
            let len = chunk.min(mine.end - start);
            // SAFETY: elements of this member's slice, which nobody else reads or writes
            // until the second synchronisation.
            unsafe { reduce_chunk(&sources, &dests, start, len) };
        }
    }
    group.sync();
}

/// # Safety
/// Elements `start..start + len` of all sources and destinations are this member's.
unsafe fn reduce_chunk<T: Reduce<Op>, Op>(
    sources: &[*mut T],
    dests: &[*mut T],
    start: usize,
    len: usize,
) {
    let mut buffer = [MaybeUninit::<u8>::uninit(); CHUNK + 64];
    let skip = buffer.as_ptr().align_offset(64);
    // SAFETY: the buffer has room for CHUNK bytes from a 64-byte boundary on, which is
    // enough for `len` elements; they are written before they are read. The caller's
    // promise covers the sources and destinations.
    unsafe {
        let acc = buffer.as_mut_ptr().add(skip).cast::<T>();
        acc.copy_from_nonoverlapping(sources[0].add(start), len);
        for source in &sources[1..] {
            T::combine(acc, acc, source.add(start), len);
        }
        for dest in dests {
            dest.add(start).copy_from_nonoverlapping(acc, len);
        }
    }
}

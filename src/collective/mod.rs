//! Collectives over a [`Group`](crate::group::Group), by reading the other PEs' memory.
//!
//! All follow one pattern: synchronise (sources are ready, destinations may be written),
//! move data by loads and stores, synchronise (sources may be reused). Data is moved such
//! that each destination byte has one writer and `dest == source` is safe where the
//! standard allows it.

pub mod alltoall;
pub mod broadcast;
pub mod collect;
pub use crate::kernel::ops;
pub mod reduce;
pub mod scan;

use std::ops::Range;

use crate::group::Group;

/// Bytes of a cache line: slices of work begin at multiples of it.
const LINE: usize = 64;

/// The part of `n` elements of `elem` bytes that this member works on: equal parts, in
/// whole cache lines, so that no line has two writers.
fn slice_of(group: &Group<'_>, n: usize, elem: usize) -> Range<usize> {
    let per_line = (LINE / elem).max(1);
    let lines = n.div_ceil(per_line);
    let share = lines.div_ceil(group.size()) * per_line;
    let start = (group.me * share).min(n);
    start..(start + share).min(n)
}

/// Where every member's copy of the `n` elements at `addr` is.
fn places<T>(group: &Group<'_>, argument: &str, addr: *const T, n: usize) -> Vec<*mut T> {
    let place = |m| group.remote(argument, addr, n * size_of::<T>(), m).cast();
    (0..group.size()).map(place).collect()
}

/// Copies `bytes` bytes between places that may be the same.
///
/// # Safety
/// Both places are valid for `bytes` bytes.
#[inline]
unsafe fn copy(dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller's promise; memmove allows overlap.
    unsafe { std::ptr::copy(source, dest, bytes) };
}

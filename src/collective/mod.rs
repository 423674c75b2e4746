//! Collectives over a [`Group`], each by several algorithms, of which the group's plan chooses
//! ([`crate::choice`]; `docs/collectives.md` describes them all).
//!
//! Most follow one of two patterns. *Eager*: copy the source to library memory, synchronise,
//! read the others' copies. *Direct*: synchronise (sources are ready, destinations may be
//! written), move data straight between the users' arrays, synchronise (sources may be
//! reused). Data is moved such that each destination byte has one writer, and `dest == source`
//! is safe where the standard allows it.

pub mod alltoall;
pub mod broadcast;
pub mod collect;
mod cube;
pub mod reduce;
pub mod scan;
mod scratch;

use std::ops::Range;

use crate::group::Group;
use crate::kernel;

/// Bytes of a cache line: slices of work begin at multiples of it.
const LINE: usize = 64;

/// The part of `n` elements of `elem` bytes that this member works on: equal parts, in
/// whole cache lines, so that no line has two writers.
fn slice_of(group: &Group<'_>, n: usize, elem: usize) -> Range<usize> {
    let per_line = (LINE / elem).max(1);
    let lines = n.div_ceil(per_line);
    let share = lines.div_ceil(group.size) * per_line;
    let start = (group.me * share).min(n);
    start..(start + share).min(n)
}

/// The members, beginning with this one: so that not all read the same one at once.
fn from_me_on(group: &Group<'_>) -> impl Iterator<Item = usize> {
    let (me, size) = (group.me, group.size);
    (me..size).chain(0..me)
}

/// Copies `bytes` bytes between places that may be the same, on behalf of `group`.
///
/// # Safety
/// Both places are valid for `bytes` bytes.
#[inline]
unsafe fn copy(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    if !std::ptr::eq(dest, source) {
        group.traffic().moved(bytes, bytes);
        // SAFETY: the caller's promise.
        unsafe { kernel::copy(dest, source, bytes) };
    }
}

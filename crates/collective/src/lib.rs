//! Collectives over a [`Group`], and the making of teams. Each collective has several algorithms,
//! among which the group's decision table chooses ([`ferroshmem_tuning`]; `docs/collectives.md`
//! describes them all).
//!
//! Most follow one of two patterns. *Eager*: copy the source to library memory, synchronise, read
//! the others' copies. *Direct*: synchronise (sources are ready, destinations may be written), move
//! data between the program's arrays, synchronise (sources may be reused). Members share the work
//! of the second pattern ([`Group::share_work`]), which where PEs outnumber cores also needs only
//! one synchronisation. Data is moved such that each destination byte has one writer, and
//! `dest == source` is safe where the standard allows it.
//!
//! The crate knows groups, teams and connections of `ferroshmem-core`; no routine of the API.

pub mod active_set;
pub mod alltoall;
pub mod broadcast;
pub mod collect;
pub mod gather;
pub mod graph;
mod hypercube;
pub mod intergroup;
pub mod internode;
pub mod nonblocking;
pub mod reduce;
pub mod remote_intergroup;
pub mod scan;
mod scratch;
pub mod shrink;
#[cfg(test)]
mod simulation;
pub mod split;
pub mod team_id;
#[cfg(test)]
mod tests;

use std::ops::Range;

use ferroshmem_core::group::{Group, MemberAddresses, Work};
use ferroshmem_core::offload;

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

/// Bytes of a cache line: slices of work begin at multiples of it.
const LINE: usize = 64;

/// Work on `n` elements of `elem` bytes in each of `arrays` arrays. All members' parts have the same
/// size, in whole cache lines, so that no line has two writers. Pieces taken on demand are whole
/// pages, so that few PEs touch each page.
fn slices_of(group: &Group<'_>, n: usize, elem: usize, arrays: usize) -> Work {
    const PAGE: usize = 4096;
    const LARGEST_PIECE: usize = 64 << 10;

    let per_line = (LINE / elem).max(1);
    let lines = n.div_ceil(per_line);
    let share = lines.div_ceil(group.size) * per_line;
    let start = (group.me * share).min(n);
    let bytes = n * elem;
    let piece = (bytes / 16).next_multiple_of(PAGE).clamp(PAGE, LARGEST_PIECE);
    Work { total: n, own: start..(start + share).min(n), piece: piece / elem, bytes: bytes * arrays }
}

/// The two halves of a range; the first one ends at a multiple of cache lines.
fn halves(range: Range<usize>, elem: usize) -> (Range<usize>, Range<usize>) {
    let per_line = (LINE / elem).max(1);
    let half = range.len().div_ceil(2).next_multiple_of(per_line);
    let middle = (range.start + half).min(range.end);
    (range.start..middle, middle..range.end)
}

/// All members, beginning with `first`, so that not all members read the same one at once.
fn from_on(first: usize, size: usize) -> impl Iterator<Item = usize> {
    (first..size).chain(0..first)
}

/// Copies `bytes` bytes between arrays that may be the same, on behalf of `group`.
///
/// # Safety
/// `dest` is writable and `source` readable for `bytes` bytes.
#[inline]
unsafe fn copy(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
    unsafe { copy_part(group, dest, source, bytes, 2 * bytes) }
}

/// Copies `bytes` bytes at `source` to `dest` of `members`, which are this one and others of its socket:
/// those come from its own `dest`, so that each byte of the source is read once. `whole` is as for [`copy_part`].
///
/// # Safety
/// `dest` is writable for `bytes` bytes on all members, and `source` is readable for as many; they are the same
/// or do not overlap.
unsafe fn copy_to_socket(
    group: &Group<'_>,
    dest: &MemberAddresses<'_, u8>,
    members: impl Iterator<Item = usize> + Clone,
    source: *const u8,
    (bytes, whole): (usize, usize),
) {
    /// Bytes that are still in the caches when they are copied again.
    const PIECE: usize = 64 << 10;

    let others = members.filter(|member| *member != group.me);
    for at in (0..bytes).step_by(PIECE) {
        let length = PIECE.min(bytes - at);
        let to = dest.from(at);
        // SAFETY: the caller promises valid arrays of `bytes` bytes.
        unsafe {
            copy_part(group, to.of(group.me), source.add(at), length, whole);
            for member in others.clone() {
                copy_part(group, to.of(member), to.of(group.me), length, whole);
            }
        }
    }
}

/// Copies as [`copy`] does, as a part of a call for which `whole` bytes decide whether its copies go past the caches:
/// those that a member copies where all read the same sources, which stay there, and twice as many where each byte is
/// read by one.
///
/// # Safety
/// As [`copy`].
#[inline]
unsafe fn copy_part(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize, whole: usize) {
    if !std::ptr::eq(dest, source) {
        group.traffic().moved(bytes, bytes);
        group.touches(dest, bytes);
        group.touches(source, bytes);
        // SAFETY: the caller promises that `dest` is writable and `source` readable for `bytes` bytes.
        unsafe { offload::copy_part(dest, source, bytes, whole) };
    }
}

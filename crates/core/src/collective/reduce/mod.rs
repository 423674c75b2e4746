//! Reductions: `dest[i] = source[i] of member 0 op … op source[i] of the last`, on every member.
//!
//! | name | module | who computes |
//! |---|---|---|
//! | eager | [`eager`] | the last to arrive for all, or each for itself |
//! | flat | [`flat`] | one member |
//! | rd | [`recursive_doubling`] | one of each pair, or both a half |
//! | bruck | [`bruck`] | everybody everything |
//! | rsag | [`rabenseifner`] | everybody a part |
//! | slices | [`slices`] | everybody a part |
//!
//! `docs/collectives.md` says what each of them reads and writes; the tests count it.
//!
//! The put/get forms are the same exchanges as a PE without access to the others' memory does
//! them: a message is copied to a work buffer before it is used. They run between the leaders of
//! a team's parts, by puts and gets, and on a node to be compared with, for the paper's sake.
//!
//! In every algorithm the order in which operands are combined depends on the members' numbers
//! alone: same inputs, members and algorithm, same bits. In all but bruck all members get the
//! same bits, too.

mod bruck;
mod eager;
mod flat;
mod pair;
mod rabenseifner;
mod recursive_doubling;
mod slices;
#[cfg(test)]
mod tests;

use std::ops::Range;

use super::scratch::SCRATCH;
use crate::choice::{Algorithm, Collective, EAGER, Form};
use crate::group::{Group, Places};
use crate::kernel::{Dests, Sources};
use crate::kernel::{Operation, Reduce};

/// Lanes of a reduction: one per round and purpose (see [`crate::group::Epoch`]).
mod lane {
    /// Round k: "my values are ready".
    pub(super) const READY: usize = 0;
    /// Round k: "I have done my part with yours".
    pub(super) const DONE: usize = 12;
    /// To and from a guest: "my values are ready".
    pub(super) const FOLD: usize = 24;
    /// From a guest: "my part of the folding is done".
    pub(super) const FOLDED: usize = 25;
    /// To a guest: "the result is there".
    pub(super) const UNFOLD: usize = 26;
}

/// One call, or a part of its elements. Arrays are bytes here, counts are elements.
struct Reduction<'a> {
    group: &'a Group<'a>,
    dest: Places<'a, u8>,
    source: Places<'a, u8>,
    /// Elements.
    n: usize,
    op: &'static Operation,
}

/// Reduces `n` elements.
///
/// # Safety
/// `dest` and `source` are valid for `n` elements on every member, and aligned; they are the
/// same or do not overlap.
pub unsafe fn reduce<T: Reduce<Op>, Op>(
    group: &Group<'_>,
    dest: Places<'_, T>,
    source: Places<'_, T>,
    n: usize,
) {
    let op = Operation::of::<T, Op>();
    // SAFETY: the caller's promise.
    unsafe { reduce_bytes(group, dest.bytes(), source.bytes(), n, op) };
}

/// [`reduce`] for any type and operator.
///
/// # Safety
/// As for `reduce`.
pub(super) unsafe fn reduce_bytes<'a>(
    group: &'a Group<'a>,
    dest: Places<'a, u8>,
    source: Places<'a, u8>,
    n: usize,
    op: &'static Operation,
) {
    let r = Reduction {
        group,
        dest,
        source,
        n,
        op,
    };
    let bytes = n * op.size;
    if group.size == 1 {
        // SAFETY: the caller's promise.
        return unsafe { r.copy(r.dest.of(0), r.source.of(0), n) };
    }
    if n == 0 {
        return group.leave();
    }
    let choice = group.choose(Collective::Reduce, bytes);
    let is_direct = choice.form == Form::Direct;
    let pairwise_differs = group.reproducible && !op.any_order;
    // SAFETY: the caller's promise.
    unsafe {
        match choice.algorithm {
            Algorithm::Eager if bytes <= EAGER => eager::reduce(&r),
            _ if pairwise_differs => slices::reduce(&r),
            Algorithm::Flat if is_direct => flat::direct(&r),
            Algorithm::Flat => flat::put_get(&r),
            Algorithm::RecursiveDoubling
                if bytes <= group.lane_bytes() && (is_direct || !group.is_near()) =>
            {
                recursive_doubling::in_lanes(&r);
            }
            Algorithm::RecursiveDoubling if is_direct => recursive_doubling::direct(&r),
            Algorithm::RecursiveDoubling if group.has_landing() => {
                recursive_doubling::in_messages(&r);
            }
            Algorithm::RecursiveDoubling => r.in_segments(recursive_doubling::put_get),
            Algorithm::Bruck if is_direct => r.in_segments(bruck::direct),
            Algorithm::Bruck => r.in_segments(bruck::put_get),
            Algorithm::Rabenseifner if is_direct => rabenseifner::direct(&r),
            Algorithm::Rabenseifner => r.in_segments(rabenseifner::put_get),
            _ => slices::reduce(&r),
        }
    }
}

impl<'a> Reduction<'a> {
    /// The same reduction, of some of the elements only.
    fn part(&self, elements: Range<usize>) -> Self {
        Self {
            group: self.group,
            dest: self.dest.from(elements.start * self.op.size),
            source: self.source.from(elements.start * self.op.size),
            n: elements.len(),
            op: self.op,
        }
    }

    /// Parts of the elements that fit the work buffer.
    fn segments(&self) -> impl Iterator<Item = Self> + '_ {
        self.parts_of(SCRATCH)
    }

    /// Parts of the elements of at most so many bytes.
    fn parts_of(&self, bytes: usize) -> impl Iterator<Item = Self> + '_ {
        let step = bytes / self.op.size;
        let starts = (0..self.n).step_by(step);
        starts.map(move |start| self.part(start..self.n.min(start + step)))
    }

    /// Runs `algorithm` on parts that fit the work buffer, one after the other.
    ///
    /// # Safety
    /// That of `algorithm`.
    unsafe fn in_segments(&self, algorithm: unsafe fn(&Reduction<'a>)) {
        for part in self.segments() {
            // SAFETY: the caller's promise.
            unsafe { algorithm(&part) };
        }
    }

    /// `dest[i] = a[i] op b[i]` for `n` elements.
    ///
    /// # Safety
    /// That of [`Reduce::combine`].
    #[inline]
    unsafe fn combine(&self, dest: *mut u8, a: *const u8, b: *const u8, n: usize) {
        let bytes = n * self.op.size;
        self.group.traffic().moved(2 * bytes, bytes);
        // SAFETY: the caller's promise.
        unsafe { (self.op.combine)(dest, a, b, n) };
    }

    /// Reduces so many sources to so many destinations, in order.
    ///
    /// # Safety
    /// That of [`Reduce::fold`].
    #[inline]
    unsafe fn fold(
        &self,
        dests: Dests<'_, u8>,
        sources: Sources<'_, u8>,
        n: usize,
        streaming: bool,
    ) {
        let bytes = n * self.op.size;
        let (read, written) = (sources.1 * bytes, dests.1 * bytes);
        self.group.traffic().moved(read, written);
        let fold = if self.group.reproducible {
            self.op.fold_exact
        } else {
            self.op.fold
        };
        // SAFETY: the caller's promise.
        unsafe { fold(dests, sources, n, streaming) };
    }

    /// Copies `n` elements of a member's copy of `from`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline]
    unsafe fn get(&self, to: *mut u8, from: &Places<'_, u8>, member: usize, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.group.get(to, from, member, n * self.op.size) };
    }

    /// Copies `n` elements to a member's copy of `to`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline]
    unsafe fn put(&self, to: &Places<'_, u8>, member: usize, from: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.group.put(to, member, from, n * self.op.size) };
    }

    /// Copies `n` elements, unless they are there already.
    ///
    /// # Safety
    /// Both places are valid for `n` elements; they are the same or do not overlap.
    #[inline]
    unsafe fn copy(&self, dest: *mut u8, source: *const u8, n: usize) {
        // SAFETY: the caller's promise.
        unsafe { super::copy(self.group, dest, source, n * self.op.size) };
    }
}

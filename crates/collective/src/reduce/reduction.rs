//! One reduction: its arrays and operator, and the steps that all algorithms share.

use std::ops::Range;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use ferroshmem_core::group::{Epoch, Group, MemberAddresses};
use ferroshmem_core::offload;
use ferroshmem_simd::{Dests, Operator, Sources};

use crate::hypercube::{Hypercube, Role};
use crate::scratch::SCRATCH;
use crate::{copy, halves};

/// Flags of a reduction: one per round and purpose (see [`ferroshmem_core::group::Epoch`]).
pub(super) mod flag {
    use ferroshmem_layout::FLAGS;

    /// Round k: "my values are ready".
    pub(crate) const READY: usize = 0;
    /// To and from an extra rank: "my values are ready".
    pub(crate) const FOLD: usize = DONE - 1;
    /// Round k: "I have done my part with yours".
    pub(crate) const DONE: usize = FLAGS / 2;
    /// From an extra rank: "my part of the fold is done". Only extra ranks get the other one of this number.
    pub(crate) const FOLDED: usize = UNFOLD;
    /// To an extra rank: "the result is there".
    pub(crate) const UNFOLD: usize = FLAGS - 1;
}

/// A reduction, or one of a part of its elements. Arrays are of bytes, counts of elements.
pub(super) struct Reduction<'a> {
    pub(super) group: &'a Group<'a>,
    pub(super) dest: MemberAddresses<'a, u8>,
    pub(super) source: MemberAddresses<'a, u8>,
    /// Elements.
    pub(super) n: usize,
    pub(super) op: &'static Operator,
}

impl<'a> Reduction<'a> {
    /// The same reduction, of some of the elements only.
    pub(super) fn part(&self, elements: Range<usize>) -> Self {
        Self {
            group: self.group,
            dest: self.dest.from(elements.start * self.op.size()),
            source: self.source.from(elements.start * self.op.size()),
            n: elements.len(),
            op: self.op,
        }
    }

    /// Parts of the elements that fit the work buffer.
    pub(super) fn segments(&self) -> impl Iterator<Item = Self> + '_ {
        self.parts_of(SCRATCH)
    }

    /// Parts of the elements of at most `bytes` bytes.
    pub(super) fn parts_of(&self, bytes: usize) -> impl Iterator<Item = Self> + '_ {
        let step = bytes / self.op.size();
        let starts = (0..self.n).step_by(step);
        starts.map(move |start| self.part(start..self.n.min(start + step)))
    }

    /// Runs `algorithm` on parts that fit the work buffer, one after the other.
    ///
    /// # Safety
    /// That of `algorithm`.
    pub(super) unsafe fn in_segments(&self, algorithm: unsafe fn(&Reduction<'a>)) {
        for part in self.segments() {
            // SAFETY: the caller promises what `algorithm` asks for; a part fits the work buffer.
            unsafe { algorithm(&part) };
        }
    }

    /// The number of this member's vertex, and its extra rank. None if this member is an extra rank: its proxy has by
    /// then put the result to its `dest`.
    #[inline]
    pub(super) fn vertex(&self, cube: &Hypercube, epoch: &Epoch<'_>) -> Option<(usize, Option<usize>)> {
        match cube.role(self.group.me) {
            Role::Extra { proxy } => {
                epoch.post(proxy, flag::FOLD);
                epoch.wait(flag::UNFOLD);
                None
            }
            Role::Vertex { number, extra } => Some((number, extra)),
        }
    }

    /// `dest[i] = a[i] op b[i]` for `n` elements.
    ///
    /// # Safety
    /// That of [`Reduce::combine`](ferroshmem_simd::Reduce::combine).
    #[inline]
    pub(super) unsafe fn combine(&self, dest: *mut u8, a: *const u8, b: *const u8, n: usize) {
        let bytes = n * self.op.size();
        self.group.traffic().moved(2 * bytes, bytes);
        for at in [dest.cast_const(), a, b] {
            self.group.touches(at, bytes);
        }
        if offload::helpers_for(3 * bytes / 2) == 0 {
            // SAFETY: the caller promises what `Reduce::combine` asks for.
            return unsafe { (self.op.combine)(dest, a, b, n) };
        }
        let at = [dest.cast_const(), a, b].map(<*const u8>::expose_provenance);
        self.share(n, 3 * bytes / 2, &|elements| {
            let [dest, a, b] = at.map(|at| at + elements.start * self.op.size());
            let (a, b) = (with_exposed_provenance(a), with_exposed_provenance(b));
            // SAFETY: some of the caller's elements.
            unsafe { (self.op.combine)(with_exposed_provenance_mut(dest), a, b, elements.len()) };
        });
    }

    /// Has idle threads share what `work` does with `n` elements, which takes as long as a copy of `bytes` bytes.
    #[cold]
    fn share(&self, n: usize, bytes: usize, work: &(dyn Fn(Range<usize>) + Sync)) {
        /// Elements of a unit: whole cache lines, of whatever type.
        const UNIT: usize = 64;

        let units = n.div_ceil(UNIT);
        offload::share_units(units, bytes / units, &|units| {
            work(units.start * UNIT..n.min(units.end * UNIT));
        });
    }

    /// Reduces the sources, in their order, to all destinations.
    ///
    /// # Safety
    /// That of [`Reduce::fold`](ferroshmem_simd::Reduce::fold).
    #[inline]
    pub(super) unsafe fn fold(&self, dests: Dests<'_, u8>, sources: Sources<'_, u8>, n: usize, streaming: bool) {
        let bytes = n * self.op.size();
        let (read, written) = (sources.1 * bytes, dests.1 * bytes);
        self.group.traffic().moved(read, written);
        (0..dests.1).for_each(|i| self.group.touches(dests.0(i), bytes));
        (0..sources.1).for_each(|i| self.group.touches(sources.0(i), bytes));
        let (op, exact) = (self.op, self.group.reproducible);
        let moved = (read + written) / 2;
        if offload::helpers_for(moved) == 0 {
            // SAFETY: the caller promises what `Reduce::fold` asks for.
            return unsafe { op.fold(exact, dests, sources, n, streaming) };
        }
        let to = Vec::from_iter((0..dests.1).map(|i| dests.0(i).expose_provenance()));
        let from = Vec::from_iter((0..sources.1).map(|i| sources.0(i).expose_provenance()));
        self.share(n, moved, &|elements| {
            let start = elements.start * op.size();
            let dest = |i: usize| with_exposed_provenance_mut(to[i] + start);
            let source = |i: usize| with_exposed_provenance(from[i] + start);
            let (dests, sources) = ((&dest as _, to.len()), (&source as _, from.len()));
            // SAFETY: some of the caller's elements.
            unsafe { op.fold(exact, dests, sources, elements.len(), streaming) };
        });
    }

    /// Copies `n` elements of a member's copy of `from`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline]
    pub(super) unsafe fn get(&self, to: *mut u8, from: &MemberAddresses<'_, u8>, member: usize, n: usize) {
        // SAFETY: the caller promises that both arrays are valid for `n` elements.
        unsafe { self.group.get(to, from, member, n * self.op.size()) };
    }

    /// Copies `n` elements to a member's copy of `to`.
    ///
    /// # Safety
    /// As for [`copy`](Self::copy).
    #[inline]
    pub(super) unsafe fn put(&self, to: &MemberAddresses<'_, u8>, member: usize, from: *const u8, n: usize) {
        // SAFETY: the caller promises that both arrays are valid for `n` elements.
        unsafe { self.group.put(to, member, from, n * self.op.size()) };
    }

    /// Copies `n` elements, unless source and destination are the same.
    ///
    /// # Safety
    /// `source` is readable and `dest` writable for `n` elements; they are the same or do not
    /// overlap.
    #[inline]
    pub(super) unsafe fn copy(&self, dest: *mut u8, source: *const u8, n: usize) {
        // SAFETY: the caller promises that both arrays are valid for `n` elements.
        unsafe { copy(self.group, dest, source, n * self.op.size()) };
    }
}

/// A member's side of a pair of members that reduce the same elements: both have a partial result,
/// and both get the combination of the two. Neither needs a work buffer, nothing is copied, nothing
/// is computed twice.
pub(super) struct Pair {
    /// Whether this member is the left one, whose operands come first.
    pub is_left: bool,
    /// The other member.
    pub partner: usize,
    /// The two partial results, the left member's first.
    pub sources: [*mut u8; 2],
    /// The two destinations of the result.
    pub dests: [*mut u8; 2],
}

impl Pair {
    /// Reduces these elements, in the flags of `round`. Where PEs outnumber cores, the left member
    /// reduces while the right one waits ("left computes", Namashivayam et al.), which takes the
    /// fewest context switches. Otherwise each member reduces one half for both.
    ///
    /// # Safety
    /// Sources and destinations are valid for the elements, and no other member uses them until
    /// both members of the pair have returned.
    pub(super) unsafe fn reduce(&self, r: &Reduction<'_>, epoch: &Epoch<'_>, round: usize, elements: Range<usize>) {
        let (ready, done) = (flag::READY + round, flag::DONE + round);
        if r.group.oversubscribed {
            if self.is_left {
                epoch.wait(ready);
                // SAFETY: the caller promises valid arrays that no other member uses; the partner is
                // ready and waits.
                unsafe { self.compute(r, elements) };
                epoch.post(self.partner, done);
            } else {
                epoch.post(self.partner, ready);
                epoch.wait(done);
            }
            return;
        }
        let (left, right) = halves(elements, r.op.size());
        epoch.post(self.partner, ready);
        epoch.wait(ready);
        // SAFETY: the caller promises valid arrays that no other member uses; the partner is ready
        // and reduces the other half.
        unsafe { self.compute(r, if self.is_left { left } else { right }) };
        epoch.post(self.partner, done);
        epoch.wait(done);
    }

    /// Reduces `elements` for both members.
    ///
    /// # Safety
    /// As for `reduce`, and both members are ready.
    unsafe fn compute(&self, r: &Reduction<'_>, elements: Range<usize>) {
        let start = elements.start * r.op.size();
        let source = |i: usize| self.sources[i].wrapping_add(start).cast_const();
        let dest = |i: usize| self.dests[i].wrapping_add(start);
        // SAFETY: the caller promises sources and destinations that are valid for the elements.
        unsafe { r.fold((&dest, 2), (&source, 2), elements.len(), false) };
    }
}

//! Two members, one result: both have a partial result of the same elements, and both get the
//! sum of the two. Neither needs a work buffer, nothing is copied, nothing is computed twice.

use std::ops::Range;

use super::{Reduction, lane};
use crate::collective::halves;
use crate::group::Epoch;

/// A member's side of a pair.
pub(super) struct Pair {
    /// Whether this member is the left one: the one whose operands come first.
    pub is_left: bool,
    /// The other member.
    pub partner: usize,
    /// Where the two partial results are, the left one's first.
    pub sources: [*mut u8; 2],
    /// Where the result goes.
    pub dests: [*mut u8; 2],
}

impl Pair {
    /// Reduces these elements, in the lanes of `round`. "Left computes" (Namashivayam et al.)
    /// where PEs outnumber cores: the left one does it while the right one waits, which takes
    /// the fewest switches. Where both have a core, each does one half for both.
    ///
    /// # Safety
    /// Sources and destinations are valid for the elements, and nobody else uses them until
    /// both members are through.
    pub(super) unsafe fn reduce(
        &self,
        r: &Reduction<'_>,
        epoch: &Epoch<'_>,
        round: usize,
        elements: Range<usize>,
    ) {
        let (ready, done) = (lane::READY + round, lane::DONE + round);
        if r.group.crowded {
            if self.is_left {
                epoch.wait(ready);
                // SAFETY: the caller's promise; the partner is ready, and waits.
                unsafe { self.compute(r, elements) };
                epoch.post(self.partner, done);
            } else {
                epoch.post(self.partner, ready);
                epoch.wait(done);
            }
            return;
        }
        let (left, right) = halves(elements, r.op.size);
        epoch.post(self.partner, ready);
        epoch.wait(ready);
        // SAFETY: the caller's promise; the partner is ready, and does the other half.
        unsafe { self.compute(r, if self.is_left { left } else { right }) };
        epoch.post(self.partner, done);
        epoch.wait(done);
    }

    /// # Safety
    /// As for `reduce`, and both members are ready.
    unsafe fn compute(&self, r: &Reduction<'_>, elements: Range<usize>) {
        let start = elements.start * r.op.size;
        let source = |i: usize| self.sources[i].wrapping_add(start).cast_const();
        let dest = |i: usize| self.dests[i].wrapping_add(start);
        // SAFETY: the caller's promise.
        unsafe { r.fold((&dest, 2), (&source, 2), elements.len(), false) };
    }
}

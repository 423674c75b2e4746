//! Bruck's exchange: in round k, each vertex adds the partial result of the vertex 2^k ahead, so
//! that its window of members doubles (Bruck et al., "Efficient Algorithms for All-to-All
//! Communications in Multiport Message-Passing Systems", 1997; T as for recursive doubling).
//!
//! Each member's window begins at the member itself, so members combine in different orders: sums
//! of floating-point numbers may differ between PEs in the last bits.

use ferroshmem_core::group::{Epoch, MemberAddresses};

use super::reduction::{Reduction, flag};
use crate::hypercube::Hypercube;
use crate::scratch::with_scratch;

/// Each vertex reads the other's partial result in place.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn direct(r: &Reduction<'_>) {
    // SAFETY: the caller promises arrays of `n` elements that fit the work buffer; the other vertex
    // is in the same round and does not write what is read.
    unsafe {
        exchange(r, |round, next| {
            let sum = r.dest.of(r.group.me);
            // The vertex behind reads `mine` in this round, so it must not be overwritten.
            let free = !std::ptr::eq(round.mine, sum);
            let to = if free { sum } else { next };
            let theirs = round.theirs.of(round.ahead);
            r.combine(to, round.mine, theirs, r.n);
            round.finish();
            r.copy(sum, to, r.n);
        });
    }
}

/// Each vertex gets the other's partial result into a work buffer.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    // SAFETY: the caller promises arrays of `n` elements that fit the work buffer; the other vertex
    // is in the same round and does not write what is read.
    unsafe {
        exchange(r, |round, message| {
            r.get(message, round.theirs, round.ahead, r.n);
            round.finish();
            r.combine(r.dest.of(r.group.me), round.mine, message, r.n);
        });
    }
}

/// One round of a vertex, when both partial results are ready.
struct Round<'a> {
    epoch: &'a Epoch<'a>,
    k: usize,
    ahead: usize,
    mine: *const u8,
    /// The partial results of which `ahead`'s is to be added.
    theirs: &'a MemberAddresses<'a, u8>,
}

impl Round<'_> {
    /// Posts that `theirs` has been read, and waits until `mine` has been read.
    fn finish(&self) {
        self.epoch.post(self.ahead, flag::DONE + self.k);
        self.epoch.wait(flag::DONE + self.k);
    }
}

/// Runs the rounds: calls `step` for each, with a buffer of the size of the elements.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
unsafe fn exchange(r: &Reduction<'_>, step: impl Fn(Round<'_>, *mut u8)) {
    let (me, n) = (r.group.me, r.n);
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    let Some((number, extra)) = r.vertex(&cube, &epoch) else {
        return;
    };
    // The caller promises arrays of `n` elements on every member. Another member may read a member's
    // arrays from the owner's post of FOLD or READY until the reader's post of DONE or UNFOLD.
    if let Some(extra) = extra {
        epoch.wait(flag::FOLD);
        let (mine, sum) = (r.source.of(me), r.dest.of(me));
        // SAFETY: `n` elements on every member, ready between the posts (see the comment above); the work
        // buffer has room for them.
        unsafe {
            if r.group.is_local() {
                r.combine(sum, mine, r.source.of(extra), n);
            } else {
                with_scratch(|message| {
                    r.get(message, &r.source, extra, n);
                    r.combine(sum, mine, message, n);
                });
            }
        }
    }
    let vertices = 1 << cube.rounds;
    with_scratch(|buffer| {
        for k in 0..cube.rounds {
            let partial = |vertex| {
                if k == 0 && !cube.has_extra(vertex) { &r.source } else { &r.dest }
            };
            let other = (number + (1 << k)) % vertices;
            let ahead = cube.member(other);
            let behind = cube.member((number + vertices - (1 << k)) % vertices);
            epoch.post(behind, flag::READY + k);
            epoch.wait(flag::READY + k);
            let round = Round { epoch: &epoch, k, ahead, mine: partial(number).of(me), theirs: partial(other) };
            step(round, buffer);
        }
    });
    if let Some(extra) = extra {
        // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
        unsafe { r.put(&r.dest, extra, r.dest.of(me), n) };
        epoch.post(extra, flag::UNFOLD);
    }
}

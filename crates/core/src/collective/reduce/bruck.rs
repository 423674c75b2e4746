//! Bruck's exchange: in round k, each corner adds the partial result of the corner 2^k ahead,
//! so everybody's window of members doubles (Bruck et al., "Efficient Algorithms for All-to-All
//! Communications in Multiport Message-Passing Systems", 1997; T as for recursive doubling).
//!
//! The windows begin at each member itself, so the members combine in different orders: sums
//! of floating-point numbers may differ between PEs in the last bits.

use super::{Reduction, lane};
use crate::collective::cube::{Cube, Role};
use crate::collective::scratch::with_scratch;
use crate::group::{Epoch, Places};

/// Each reads the other's partial result where it is.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn direct(r: &Reduction<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        exchange(r, |round, next| {
            let sum = r.dest.of(r.group.me);
            // What is written must not be what the corner behind reads meanwhile.
            let free = !std::ptr::eq(round.mine, sum);
            let to = if free { sum } else { next };
            let theirs = round.theirs.of(round.ahead);
            r.combine(to, round.mine, theirs, r.n);
            round.finish();
            r.copy(sum, to, r.n);
        });
    }
}

/// Each gets the other's partial result into a work buffer.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        exchange(r, |round, message| {
            r.get(message, round.theirs, round.ahead, r.n);
            round.finish();
            r.combine(r.dest.of(r.group.me), round.mine, message, r.n);
        });
    }
}

/// One round of a corner, both partial results at hand.
struct Round<'a> {
    epoch: &'a Epoch<'a>,
    k: usize,
    ahead: usize,
    mine: *const u8,
    /// The partial results of which `ahead`'s is to be added.
    theirs: &'a Places<'a, u8>,
}

impl Round<'_> {
    /// Says that `theirs` was read, and waits until `mine` was.
    fn finish(&self) {
        self.epoch.post(self.ahead, lane::DONE + self.k);
        self.epoch.wait(lane::DONE + self.k);
    }
}

/// The rounds; `step` takes one, with a buffer of the size of the elements.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
unsafe fn exchange(r: &Reduction<'_>, step: impl Fn(Round<'_>, *mut u8)) {
    let (me, n) = (r.group.me, r.n);
    let cube = Cube::of(r.group.size);
    let epoch = r.group.epoch();
    let (number, guest) = match cube.role(me) {
        Role::Guest { host } => {
            epoch.post(host, lane::FOLD);
            epoch.wait(lane::UNFOLD);
            return;
        }
        Role::Corner { number, guest } => (number, guest),
    };
    // The caller's promise makes all of it valid; a member's arrays are another's to read from its
    // post of FOLD or READY until that one's post of DONE or UNFOLD.
    if let Some(guest) = guest {
        epoch.wait(lane::FOLD);
        let (mine, sum) = (r.source.of(me), r.dest.of(me));
        // SAFETY: see the comment above the rounds; the work buffer has room.
        unsafe {
            if r.group.is_near() {
                r.combine(sum, mine, r.source.of(guest), n);
            } else {
                with_scratch(|message| {
                    r.get(message, &r.source, guest, n);
                    r.combine(sum, mine, message, n);
                });
            }
        }
    }
    let corners = 1 << cube.rounds;
    with_scratch(|buffer| {
        for k in 0..cube.rounds {
            let partial = |corner| {
                if k == 0 && !cube.hosts(corner) {
                    &r.source
                } else {
                    &r.dest
                }
            };
            let other = (number + (1 << k)) % corners;
            let ahead = cube.member(other);
            let behind = cube.member((number + corners - (1 << k)) % corners);
            epoch.post(behind, lane::READY + k);
            epoch.wait(lane::READY + k);
            let round = Round {
                epoch: &epoch,
                k,
                ahead,
                mine: partial(number).of(me),
                theirs: partial(other),
            };
            step(round, buffer);
        }
    });
    if let Some(guest) = guest {
        // SAFETY: see the comment above the rounds.
        unsafe { r.put(&r.dest, guest, r.dest.of(me), n) };
        epoch.post(guest, lane::UNFOLD);
    }
}

//! Rabenseifner's algorithm: a reduce-scatter by recursive halving, then an all-gather by
//! recursive doubling (T = 2·lg p·alpha + 2·(p - 1)/p·n·beta + (p - 1)/p·n·gamma).
//!
//! Why pushing in the all-gather needs no further flags: the part that a corner pushes to its
//! partner of a round is the half that it took over from that partner in the halving, when it
//! was the only one to read it there.

use std::ops::Range;

use super::pair::Pair;
use super::{Reduction, lane};
use crate::collective::cube::{Cube, Role};
use crate::collective::halves;
use crate::collective::scratch::with_scratch;
use crate::group::{Epoch, Places};
use crate::job::region::MAX_PES;

/// Most rounds of halving.
const ROUNDS: usize = MAX_PES.ilog2() as usize;

/// A corner's way through the halving.
struct Corner<'a> {
    r: &'a Reduction<'a>,
    epoch: Epoch<'a>,
    cube: Cube,
    number: usize,
    /// The elements it has to do with before each round, and after the last.
    ranges: [(usize, usize); ROUNDS + 1],
}

/// Halving reads the partner's half where it is. The last round of it and the first of the
/// all-gather are one: what both of a pair have left is reduced to both (see [`Pair`]).
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct(r: &Reduction<'_>) {
    let me = r.group.me;
    let cube = Cube::of(r.group.size);
    let epoch = r.group.epoch();
    // The caller's promise makes all of it valid; a member's arrays are another's to use between the
    // posts; the two of a pair work on different elements.
    match cube.role(me) {
        Role::Guest { host } => {
            let upper = halves(0..r.n, r.op.size).1;
            epoch.post(host, lane::FOLD);
            epoch.wait(lane::FOLD);
            // SAFETY: see the comment above the roles.
            unsafe { fold_part(r, host, me, upper) };
            epoch.post(host, lane::FOLDED);
            epoch.wait(lane::UNFOLD);
        }
        Role::Corner { number, guest } => {
            let mut corner = Corner::new(r, epoch, cube, number);
            if let Some(guest) = guest {
                let lower = halves(0..r.n, r.op.size).0;
                corner.epoch.post(guest, lane::FOLD);
                corner.epoch.wait(lane::FOLD);
                // SAFETY: see the comment above the roles.
                unsafe { fold_part(r, me, guest, lower) };
                corner.epoch.wait(lane::FOLDED);
            }
            // SAFETY: see the comment above the roles.
            unsafe {
                for round in 0..cube.rounds - 1 {
                    let half = corner.halve(round);
                    half.combine(r, half.places.of(half.partner));
                }
                corner.middle();
                corner.gather(cube.rounds - 1);
            }
            if let Some(guest) = guest {
                // SAFETY: see the comment above the roles.
                unsafe { r.copy(r.dest.of(guest), r.dest.of(me), r.n) };
                corner.epoch.post(guest, lane::UNFOLD);
            }
        }
    }
}

/// Each gets the partner's half into a work buffer, and all rounds are done.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    let me = r.group.me;
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
    let mut corner = Corner::new(r, epoch, cube, number);
    with_scratch(|message| {
        // SAFETY: the caller's promise, and as in the direct form; the buffer has room.
        unsafe {
            if let Some(guest) = guest {
                corner.epoch.wait(lane::FOLD);
                r.get(message, &r.source, guest, r.n);
                r.combine(r.dest.of(me), r.source.of(me), message, r.n);
            }
            for round in 0..cube.rounds {
                let half = corner.halve(round);
                r.get(message, &half.places, half.partner, half.n);
                half.combine(r, message);
            }
            corner.gather(cube.rounds);
            if let Some(guest) = guest {
                r.put(&r.dest, guest, r.dest.of(me), r.n);
                corner.epoch.post(guest, lane::UNFOLD);
            }
        }
    });
}

/// A part of the host's and its guest's sources, reduced to the host's destination.
///
/// # Safety
/// Both members are ready, and nobody else works on this part.
unsafe fn fold_part(r: &Reduction<'_>, host: usize, guest: usize, part: Range<usize>) {
    let r = r.part(part);
    let (a, b) = (r.source.of(host), r.source.of(guest));
    // SAFETY: the caller's promise.
    unsafe { r.combine(r.dest.of(host), a, b, r.n) };
}

/// One corner's part of a round of halving.
struct Half<'a> {
    dest: *mut u8,
    mine: *const u8,
    /// The partial results of which the partner's is to be added.
    places: Places<'a, u8>,
    /// The other corner's member.
    partner: usize,
    /// Whether this corner comes before its partner.
    is_left: bool,
    n: usize,
}

impl Half<'_> {
    /// Combines what this corner has with what its partner has, which is at `theirs`.
    ///
    /// # Safety
    /// `theirs` is valid for the elements.
    unsafe fn combine(&self, r: &Reduction<'_>, theirs: *const u8) {
        let (a, b) = if self.is_left {
            (self.mine, theirs)
        } else {
            (theirs, self.mine)
        };
        // SAFETY: the caller's promise; both partners are ready, each for its half.
        unsafe { r.combine(self.dest, a, b, self.n) };
    }
}

impl<'a> Corner<'a> {
    fn new(r: &'a Reduction<'a>, epoch: Epoch<'a>, cube: Cube, number: usize) -> Self {
        Self {
            r,
            epoch,
            cube,
            number,
            ranges: [(0, r.n); ROUNDS + 1],
        }
    }

    /// The partner of a round of the halving: the corner that differs in one bit, the highest
    /// first.
    fn partner(&self, round: usize) -> usize {
        self.number ^ 1 << (self.cube.rounds - 1 - round)
    }

    /// What a corner has before a round: its source, or what it made of it.
    fn partial(&self, round: usize, number: usize) -> Places<'a, u8> {
        if round == 0 && !self.cube.hosts(number) {
            self.r.source
        } else {
            self.r.dest
        }
    }

    /// Begins a round of halving: both partners are ready, each for its half.
    fn halve(&mut self, round: usize) -> Half<'a> {
        let partner = self.partner(round);
        let (start, end) = self.ranges[round];
        let (left, right) = halves(start..end, self.r.op.size);
        let is_left = self.number < partner;
        let part = if is_left { left } else { right };
        self.ranges[round + 1] = (part.start, part.end);
        let member = self.cube.member(partner);
        self.epoch.post(member, lane::READY + round);
        self.epoch.wait(lane::READY + round);
        let (dest, at) = (self.r.dest.of(self.r.group.me), part.start * self.r.op.size);
        Half {
            dest: dest.wrapping_add(at),
            mine: self
                .partial(round, self.number)
                .from(at)
                .of(self.r.group.me),
            places: self.partial(round, partner).from(at),
            partner: member,
            is_left,
            n: part.len(),
        }
    }

    /// The last round of the halving and the first of the all-gather.
    ///
    /// # Safety
    /// The rounds before are done.
    unsafe fn middle(&mut self) {
        let round = self.cube.rounds - 1;
        let partner = self.partner(round);
        let member = self.cube.member(partner);
        let (start, end) = self.ranges[round];
        let is_left = self.number < partner;
        let (mine, theirs) = (
            self.partial(round, self.number).of(self.r.group.me),
            self.partial(round, partner).of(member),
        );
        let pair = Pair {
            is_left,
            partner: member,
            sources: if is_left {
                [mine, theirs]
            } else {
                [theirs, mine]
            },
            dests: [self.r.dest.of(self.r.group.me), self.r.dest.of(member)],
        };
        // SAFETY: the two alone have to do with these elements of theirs.
        unsafe { pair.reduce(self.r, &self.epoch, round, start..end) };
    }

    /// The all-gather back through the first `rounds` rounds: pushes what this corner has to
    /// the partner, who pushes the other half.
    ///
    /// # Safety
    /// The halving is done.
    unsafe fn gather(&self, rounds: usize) {
        let r = self.r;
        for round in (0..rounds).rev() {
            let member = self.cube.member(self.partner(round));
            let (start, end) = self.ranges[round + 1];
            let part = r.part(start..end);
            let from = part.dest.of(r.group.me);
            // SAFETY: see the module.
            unsafe { part.put(&part.dest, member, from, part.n) };
            self.epoch.post(member, lane::DONE + round);
            self.epoch.wait(lane::DONE + round);
        }
    }
}

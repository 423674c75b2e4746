//! Rabenseifner's algorithm: a reduce-scatter by recursive halving, then an all-gather by
//! recursive doubling (T = 2·lg p·alpha + 2·(p - 1)/p·n·beta + (p - 1)/p·n·gamma).
//!
//! Puts in the all-gather need no further flags: the part that a vertex puts to its partner of a
//! round is the half that it took over from that partner in the halving, and since then no other
//! member has read that half there.

use std::ops::Range;

use ferroshmem_core::group::{Epoch, MemberAddresses};
use ferroshmem_layout::MAX_PES;

use super::reduction::{Pair, Reduction, flag};
use crate::halves;
use crate::hypercube::{Hypercube, Role};
use crate::scratch::with_scratch;

/// Most rounds of halving.
const ROUNDS: usize = MAX_PES.ilog2() as usize;

/// The state of a vertex in the halving.
struct Vertex<'a> {
    r: &'a Reduction<'a>,
    epoch: Epoch<'a>,
    cube: Hypercube,
    number: usize,
    /// The elements that it works on before each round, and after the last.
    ranges: [(usize, usize); ROUNDS + 1],
}

/// The halving reads the partner's half in place. Its last round and the first round of the
/// all-gather are one: a pair reduces the elements that it has left to both members (see [`Pair`]).
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct(r: &Reduction<'_>) {
    let me = r.group.me;
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    // The caller promises arrays of `n` elements on every member. Another member may use a member's
    // arrays between the posts; the two members of a pair work on different elements.
    match cube.role(me) {
        Role::Extra { proxy } => {
            let upper = halves(0..r.n, r.op.size()).1;
            epoch.post(proxy, flag::FOLD);
            epoch.wait(flag::FOLD);
            // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
            unsafe { fold_part(r, proxy, me, upper) };
            epoch.post(proxy, flag::FOLDED);
            epoch.wait(flag::UNFOLD);
        }
        Role::Vertex { number, extra } => {
            let mut vertex = Vertex::new(r, epoch, cube, number);
            if let Some(extra) = extra {
                let lower = halves(0..r.n, r.op.size()).0;
                vertex.epoch.post(extra, flag::FOLD);
                vertex.epoch.wait(flag::FOLD);
                // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
                unsafe { fold_part(r, me, extra, lower) };
                vertex.epoch.wait(flag::FOLDED);
            }
            // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
            unsafe {
                for round in 0..cube.rounds - 1 {
                    let half = vertex.halve(round);
                    half.combine(r, half.partials.of(half.partner));
                }
                vertex.middle();
                vertex.gather(cube.rounds - 1);
            }
            if let Some(extra) = extra {
                // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
                unsafe { r.copy(r.dest.of(extra), r.dest.of(me), r.n) };
                vertex.epoch.post(extra, flag::UNFOLD);
            }
        }
    }
}

/// Each vertex gets the partner's half into a work buffer. No rounds are merged.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    let me = r.group.me;
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    let Some((number, extra)) = r.vertex(&cube, &epoch) else {
        return;
    };
    let mut vertex = Vertex::new(r, epoch, cube, number);
    with_scratch(|message| {
        // SAFETY: the caller promises arrays of `n` elements on every member, which fit the work
        // buffer; other members use them between the posts, as in the direct form.
        unsafe {
            if let Some(extra) = extra {
                vertex.epoch.wait(flag::FOLD);
                r.get(message, &r.source, extra, r.n);
                r.combine(r.dest.of(me), r.source.of(me), message, r.n);
            }
            for round in 0..cube.rounds {
                let half = vertex.halve(round);
                r.get(message, &half.partials, half.partner, half.n);
                half.combine(r, message);
            }
            vertex.gather(cube.rounds);
            if let Some(extra) = extra {
                r.put(&r.dest, extra, r.dest.of(me), r.n);
                vertex.epoch.post(extra, flag::UNFOLD);
            }
        }
    });
}

/// Reduces a part of the sources of a proxy and its extra rank to the proxy's destination.
///
/// # Safety
/// Both members are ready, and no other member works on this part.
unsafe fn fold_part(r: &Reduction<'_>, proxy: usize, extra: usize, part: Range<usize>) {
    let r = r.part(part);
    let (a, b) = (r.source.of(proxy), r.source.of(extra));
    // SAFETY: the caller promises that both members are ready and no other one works on this part.
    unsafe { r.combine(r.dest.of(proxy), a, b, r.n) };
}

/// One vertex's part of a round of halving.
struct Half<'a> {
    dest: *mut u8,
    mine: *const u8,
    /// The partial results, of which the partner's is to be added.
    partials: MemberAddresses<'a, u8>,
    /// The other vertex's member.
    partner: usize,
    /// Whether this vertex comes before its partner.
    is_left: bool,
    n: usize,
}

impl Half<'_> {
    /// Combines this vertex's partial result with its partner's, which is at `theirs`.
    ///
    /// # Safety
    /// `theirs` is readable for the elements.
    unsafe fn combine(&self, r: &Reduction<'_>, theirs: *const u8) {
        let (a, b) = if self.is_left { (self.mine, theirs) } else { (theirs, self.mine) };
        // SAFETY: the caller promises readable elements at `theirs`; both partners are ready, each
        // for its half.
        unsafe { r.combine(self.dest, a, b, self.n) };
    }
}

impl<'a> Vertex<'a> {
    fn new(r: &'a Reduction<'a>, epoch: Epoch<'a>, cube: Hypercube, number: usize) -> Self {
        Self { r, epoch, cube, number, ranges: [(0, r.n); ROUNDS + 1] }
    }

    /// The partner of a round of the halving: the vertex that differs in one bit, the highest
    /// first.
    fn partner(&self, round: usize) -> usize {
        self.number ^ 1 << (self.cube.rounds - 1 - round)
    }

    /// The partial result of a vertex before a round: its source, or in later rounds its dest.
    fn partial(&self, round: usize, number: usize) -> MemberAddresses<'a, u8> {
        if round == 0 && !self.cube.has_extra(number) { self.r.source } else { self.r.dest }
    }

    /// Begins a round of halving: both partners are ready, each for its half.
    fn halve(&mut self, round: usize) -> Half<'a> {
        let partner = self.partner(round);
        let (start, end) = self.ranges[round];
        let (left, right) = halves(start..end, self.r.op.size());
        let is_left = self.number < partner;
        let part = if is_left { left } else { right };
        self.ranges[round + 1] = (part.start, part.end);
        let member = self.cube.member(partner);
        self.epoch.post(member, flag::READY + round);
        self.epoch.wait(flag::READY + round);
        let (dest, at) = (self.r.dest.of(self.r.group.me), part.start * self.r.op.size());
        Half {
            dest: dest.wrapping_add(at),
            mine: self.partial(round, self.number).from(at).of(self.r.group.me),
            partials: self.partial(round, partner).from(at),
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
        let (mine, theirs) =
            (self.partial(round, self.number).of(self.r.group.me), self.partial(round, partner).of(member));
        let pair = Pair {
            is_left,
            partner: member,
            sources: if is_left { [mine, theirs] } else { [theirs, mine] },
            dests: [self.r.dest.of(self.r.group.me), self.r.dest.of(member)],
        };
        // SAFETY: in this round only the two members of the pair use these elements of their arrays.
        unsafe { pair.reduce(self.r, &self.epoch, round, start..end) };
    }

    /// The all-gather back through the first `rounds` rounds: puts this vertex's elements to the
    /// partner, which puts the other half.
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
            // SAFETY: the partner has the same arrays and does not read these elements (see the
            // module).
            unsafe { part.put(&part.dest, member, from, part.n) };
            self.epoch.post(member, flag::DONE + round);
            self.epoch.wait(flag::DONE + round);
        }
    }
}

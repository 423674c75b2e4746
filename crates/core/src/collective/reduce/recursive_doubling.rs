//! Recursive doubling: in round k, corners 2^k apart combine what they have; after all
//! rounds everybody has everything (T = lg p·alpha + n·lg p·beta + n·lg p·gamma).

use std::mem::MaybeUninit;

use super::pair::Pair;
use super::{Reduction, lane};
use crate::collective::cube::{Cube, Role};
use crate::collective::scratch::with_scratch;
use crate::job::region::{LANDING, LANDINGS, LANE_BYTES};

/// Room for the values of a lane, aligned for any element.
#[repr(align(16))]
struct Value(MaybeUninit<[u8; LANE_BYTES]>);

impl Value {
    const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Values of at most [`LANE_BYTES`] bytes travel in the cache lines of the flags: a round is
/// one line each way, and nobody touches another's arrays.
///
/// # Safety
/// That of [`super::reduce`]; the values fit a lane.
pub(super) unsafe fn in_lanes(r: &Reduction<'_>) {
    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size);
    let cube = Cube::of(r.group.size);
    let (mut mine, mut theirs) = (Value::new(), Value::new());
    let (mine, theirs) = (mine.as_mut_ptr(), theirs.as_mut_ptr());
    let epoch = r.group.epoch();
    // SAFETY: the caller's promise for `dest` and `source`; the two values have room.
    unsafe {
        r.copy(mine, r.source.of(me), n);
        match cube.role(me) {
            Role::Guest { host } => {
                epoch.send(host, lane::FOLD, mine, bytes);
                epoch.receive(lane::UNFOLD, mine, bytes);
            }
            Role::Corner { number, guest } => {
                if guest.is_some() {
                    epoch.receive(lane::FOLD, theirs, bytes);
                    r.combine(mine, mine, theirs, n);
                }
                for k in 0..cube.rounds {
                    let partner = cube.member(number ^ 1 << k);
                    epoch.send(partner, lane::READY + k, mine, bytes);
                    epoch.receive(lane::READY + k, theirs, bytes);
                    if number & 1 << k == 0 {
                        r.combine(mine, mine, theirs, n);
                    } else {
                        r.combine(mine, theirs, mine, n);
                    }
                }
                if let Some(guest) = guest {
                    epoch.send(guest, lane::UNFOLD, mine, bytes);
                }
            }
        }
        r.copy(r.dest.of(me), mine, n);
    }
}

/// In each round the pairs reduce straight from both partial results to both (see [`Pair`]).
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn direct(r: &Reduction<'_>) {
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
    // The caller's promise makes all of it valid; a member's arrays are another's to use from its
    // post of FOLD or READY until that one's post of UNFOLD or DONE.
    if let Some(guest) = guest {
        epoch.wait(lane::FOLD);
        let (mine, theirs) = (r.source.of(me), r.source.of(guest));
        // SAFETY: see the comment above the rounds.
        unsafe { r.combine(r.dest.of(me), mine, theirs, n) };
    }
    for k in 0..cube.rounds {
        let other = number ^ 1 << k;
        let partner = cube.member(other);
        // What a corner has before round 0 is its source, unless it took in a guest's.
        let partial = |member, corner| {
            if k == 0 && !cube.hosts(corner) {
                r.source.of(member)
            } else {
                r.dest.of(member)
            }
        };
        let is_left = number & 1 << k == 0;
        let (mine, theirs) = (partial(me, number), partial(partner, other));
        let pair = Pair {
            is_left,
            partner,
            sources: if is_left {
                [mine, theirs]
            } else {
                [theirs, mine]
            },
            dests: [r.dest.of(me), r.dest.of(partner)],
        };
        // SAFETY: see the comment above the rounds.
        unsafe { pair.reduce(r, &epoch, k, 0..n) };
    }
    if let Some(guest) = guest {
        // SAFETY: see the comment above the rounds.
        unsafe { r.copy(r.dest.of(guest), r.dest.of(me), n) };
        epoch.post(guest, lane::UNFOLD);
    }
}

/// Each gets the other's partial result into a work buffer and combines for itself.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    let (me, n) = (r.group.me, r.n);
    let cube = Cube::of(r.group.size);
    let epoch = r.group.epoch();
    let sum = r.dest.of(me);
    let (number, guest) = match cube.role(me) {
        Role::Guest { host } => {
            epoch.post(host, lane::FOLD);
            epoch.wait(lane::UNFOLD);
            return;
        }
        Role::Corner { number, guest } => (number, guest),
    };
    with_scratch(|message| {
        // SAFETY: the caller's promise; the buffer has room. A member's arrays are another's
        // to use as in the direct form.
        unsafe {
            r.copy(sum, r.source.of(me), n);
            if let Some(guest) = guest {
                epoch.wait(lane::FOLD);
                r.get(message, &r.source, guest, n);
                r.combine(sum, sum, message, n);
            }
            for k in 0..cube.rounds {
                let partner = cube.member(number ^ 1 << k);
                epoch.post(partner, lane::READY + k);
                epoch.wait(lane::READY + k);
                r.get(message, &r.dest, partner, n);
                epoch.post(partner, lane::DONE + k);
                epoch.wait(lane::DONE + k);
                if number & 1 << k == 0 {
                    r.combine(sum, sum, message, n);
                } else {
                    r.combine(sum, message, sum, n);
                }
            }
            if let Some(guest) = guest {
                r.put(&r.dest, guest, sum, n);
                epoch.post(guest, lane::UNFOLD);
            }
        }
    });
}

/// Each sends its partial result to the other, into the other's library memory: a round is one
/// message each way, and nobody waits for a get.
///
/// # Safety
/// That of [`super::reduce`]; the group has room for long messages.
pub(super) unsafe fn in_messages(r: &Reduction<'_>) {
    for part in r.parts_of(LANDING) {
        // SAFETY: the caller's promise.
        unsafe { exchange(&part) };
    }
}

/// # Safety
/// That of [`in_messages`]; the elements fit a message.
unsafe fn exchange(r: &Reduction<'_>) {
    /// The message of a guest, after those of the rounds.
    const GUEST: usize = LANDINGS - 1;

    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size);
    let cube = Cube::of(r.group.size);
    let epoch = r.group.epoch();
    let (dest, source) = (r.dest.of(me), r.source.of(me).cast_const());
    let (number, guest) = match cube.role(me) {
        Role::Guest { host } => {
            // SAFETY: the caller's promise.
            unsafe { epoch.land(host, GUEST, lane::FOLD, source, bytes) };
            epoch.wait(lane::UNFOLD);
            return epoch.settle();
        }
        Role::Corner { number, guest } => (number, guest),
    };
    with_scratch(|scratch| {
        let mut mine = source;
        // SAFETY: the caller's promise; the work buffer has room. What a round sends is changed by
        // the round after the next at the earliest, when it has been settled.
        unsafe {
            if guest.is_some() {
                r.combine(dest, mine, epoch.landed(GUEST, lane::FOLD), n);
                mine = dest;
            }
            for k in 0..cube.rounds {
                let partner = cube.member(number ^ 1 << k);
                epoch.land(partner, k, lane::READY + k, mine, bytes);
                let theirs = epoch.landed(k, lane::READY + k);
                let to = if std::ptr::eq(mine, dest) {
                    scratch
                } else {
                    dest
                };
                if k > 0 {
                    epoch.settle();
                }
                if number & 1 << k == 0 {
                    r.combine(to, mine, theirs, n);
                } else {
                    r.combine(to, theirs, mine, n);
                }
                mine = to;
            }
            epoch.settle();
            r.copy(dest, mine, n);
            if let Some(guest) = guest {
                r.put(&r.dest, guest, dest, n);
                epoch.post(guest, lane::UNFOLD);
            }
        }
    });
}

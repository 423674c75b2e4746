//! Recursive doubling: in round k, vertices 2^k apart combine their partial results; after all
//! rounds every vertex has the result (T = lg p·alpha + n·lg p·beta + n·lg p·gamma).

use std::mem::MaybeUninit;

use ferroshmem_layout::{FLAG_BYTES, RENDEZVOUS_BUFFERS, RENDEZVOUS_BYTES};

use super::reduction::{Pair, Reduction, flag};
use crate::hypercube::{Hypercube, Role};
use crate::scratch::with_scratch;

/// Room for the values of a flag, aligned for any element.
#[repr(align(16))]
pub(super) struct FlagBuffer(MaybeUninit<[u8; FLAG_BYTES]>);

impl FlagBuffer {
    pub(super) const fn new() -> Self {
        Self(MaybeUninit::uninit())
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// Values of at most [`FLAG_BYTES`] bytes travel in the cache lines of the flags: a round moves one
/// cache line each way, and no member accesses another's arrays.
///
/// # Safety
/// That of [`super::reduce`]; the values fit a flag.
pub(super) unsafe fn in_flags(r: &Reduction<'_>) {
    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size());
    let cube = Hypercube::of(r.group.size);
    let (mut mine, mut theirs) = (FlagBuffer::new(), FlagBuffer::new());
    let (mine, theirs) = (mine.as_mut_ptr(), theirs.as_mut_ptr());
    let epoch = r.group.epoch();
    // SAFETY: the caller promises `n` elements at `dest` and `source`, which fit a flag and so the
    // two values.
    unsafe {
        r.copy(mine, r.source.of(me), n);
        match cube.role(me) {
            Role::Extra { proxy } => {
                epoch.send(proxy, flag::FOLD, mine, bytes);
                epoch.receive(flag::UNFOLD, mine, bytes);
            }
            Role::Vertex { number, extra } => {
                if extra.is_some() {
                    epoch.receive(flag::FOLD, theirs, bytes);
                    r.combine(mine, mine, theirs, n);
                }
                for k in 0..cube.rounds {
                    let partner = cube.member(number ^ 1 << k);
                    epoch.send(partner, flag::READY + k, mine, bytes);
                    epoch.receive(flag::READY + k, theirs, bytes);
                    if number & 1 << k == 0 {
                        r.combine(mine, mine, theirs, n);
                    } else {
                        r.combine(mine, theirs, mine, n);
                    }
                }
                if let Some(extra) = extra {
                    epoch.send(extra, flag::UNFOLD, mine, bytes);
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
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    let Some((number, extra)) = r.vertex(&cube, &epoch) else {
        return;
    };
    // The caller promises arrays of `n` elements on every member. Another member may use a member's
    // arrays from the owner's post of FOLD or READY until the user's post of UNFOLD or DONE.
    if let Some(extra) = extra {
        epoch.wait(flag::FOLD);
        let (mine, theirs) = (r.source.of(me), r.source.of(extra));
        // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
        unsafe { r.combine(r.dest.of(me), mine, theirs, n) };
    }
    for k in 0..cube.rounds {
        let other = number ^ 1 << k;
        let partner = cube.member(other);
        // Before round 0, the partial result of a vertex is its source, unless it is a proxy.
        let partial = |member, vertex| {
            if k == 0 && !cube.has_extra(vertex) { r.source.of(member) } else { r.dest.of(member) }
        };
        let is_left = number & 1 << k == 0;
        let (mine, theirs) = (partial(me, number), partial(partner, other));
        let pair = Pair {
            is_left,
            partner,
            sources: if is_left { [mine, theirs] } else { [theirs, mine] },
            dests: [r.dest.of(me), r.dest.of(partner)],
        };
        // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
        unsafe { pair.reduce(r, &epoch, k, 0..n) };
    }
    if let Some(extra) = extra {
        // SAFETY: `n` elements on every member, ready between the posts (see the comment above).
        unsafe { r.copy(r.dest.of(extra), r.dest.of(me), n) };
        epoch.post(extra, flag::UNFOLD);
    }
}

/// Each vertex gets the other's partial result into a work buffer and combines for itself.
///
/// # Safety
/// That of [`super::reduce`]; the elements fit the work buffer.
pub(super) unsafe fn put_get(r: &Reduction<'_>) {
    let (me, n) = (r.group.me, r.n);
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    let sum = r.dest.of(me);
    let Some((number, extra)) = r.vertex(&cube, &epoch) else {
        return;
    };
    with_scratch(|message| {
        // SAFETY: the caller promises arrays of `n` elements on every member, which fit the work
        // buffer; other members use them between the posts, as in the direct form.
        unsafe {
            r.copy(sum, r.source.of(me), n);
            if let Some(extra) = extra {
                epoch.wait(flag::FOLD);
                r.get(message, &r.source, extra, n);
                r.combine(sum, sum, message, n);
            }
            for k in 0..cube.rounds {
                let partner = cube.member(number ^ 1 << k);
                epoch.post(partner, flag::READY + k);
                epoch.wait(flag::READY + k);
                r.get(message, &r.dest, partner, n);
                epoch.post(partner, flag::DONE + k);
                epoch.wait(flag::DONE + k);
                if number & 1 << k == 0 {
                    r.combine(sum, sum, message, n);
                } else {
                    r.combine(sum, message, sum, n);
                }
            }
            if let Some(extra) = extra {
                r.put(&r.dest, extra, sum, n);
                epoch.post(extra, flag::UNFOLD);
            }
        }
    });
}

/// Each vertex puts its partial result to the other's rendezvous buffer: a round is one message
/// each way, and no member waits for a get.
///
/// # Safety
/// That of [`super::reduce`]; the group has rendezvous buffers.
pub(super) unsafe fn by_rendezvous(r: &Reduction<'_>) {
    for part in r.parts_of(RENDEZVOUS_BYTES) {
        // SAFETY: the caller promises arrays of `n` elements and rendezvous buffers; a part fits one.
        unsafe { exchange(&part) };
    }
}

/// Reduces elements that fit a rendezvous buffer.
///
/// # Safety
/// That of [`by_rendezvous`]; the elements fit a rendezvous buffer.
unsafe fn exchange(r: &Reduction<'_>) {
    /// The rendezvous buffer for an extra rank, after those of the rounds.
    const EXTRA: usize = RENDEZVOUS_BUFFERS - 1;

    let (me, n, bytes) = (r.group.me, r.n, r.n * r.op.size());
    let cube = Hypercube::of(r.group.size);
    let epoch = r.group.epoch();
    let (dest, source) = (r.dest.of(me), r.source.of(me).cast_const());
    let (number, extra) = match cube.role(me) {
        Role::Extra { proxy } => {
            // SAFETY: the caller promises `n` elements at `source`, which fit the buffer and do not
            // change before `complete_puts`.
            unsafe { epoch.put_rendezvous(proxy, EXTRA, flag::FOLD, source, bytes) };
            epoch.wait(flag::UNFOLD);
            return epoch.complete_puts();
        }
        Role::Vertex { number, extra } => (number, extra),
    };
    with_scratch(|scratch| {
        let mut mine = source;
        // SAFETY: the caller promises arrays of `n` elements; the work buffer has room for them. The
        // source of a round's put is changed two rounds later at the earliest, after
        // `complete_puts`.
        unsafe {
            if extra.is_some() {
                r.combine(dest, mine, epoch.wait_rendezvous(EXTRA, flag::FOLD), n);
                mine = dest;
            }
            for k in 0..cube.rounds {
                let partner = cube.member(number ^ 1 << k);
                epoch.put_rendezvous(partner, k, flag::READY + k, mine, bytes);
                let theirs = epoch.wait_rendezvous(k, flag::READY + k);
                let to = if std::ptr::eq(mine, dest) { scratch } else { dest };
                if k > 0 {
                    epoch.complete_puts();
                }
                if number & 1 << k == 0 {
                    r.combine(to, mine, theirs, n);
                } else {
                    r.combine(to, theirs, mine, n);
                }
                mine = to;
            }
            epoch.complete_puts();
            r.copy(dest, mine, n);
            if let Some(extra) = extra {
                r.put(&r.dest, extra, dest, n);
                epoch.post(extra, flag::UNFOLD);
            }
        }
    });
}

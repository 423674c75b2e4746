//! Reductions: `dest[i] = source[i] of member 0 op … op source[i] of the last`, on every member.
//!
//! | name | function or module | which members compute |
//! |---|---|---|
//! | eager | `eager` | the last to arrive for all, or each member for itself |
//! | flat | `flat` | one member |
//! | rd | `recursive_doubling` | one of each pair, or each of the pair a half |
//! | bruck | `bruck` | each member all elements |
//! | rsag | `rabenseifner` | each member a part of the elements |
//! | slices | `slices` | each member a part of the elements |
//! | sockets | `sockets` | the members of each socket for it, then one or all for all sockets |
//!
//! `docs/collectives.md` says what each algorithm reads and writes; the tests count it.
//!
//! The put/get forms are the same exchanges for PEs that cannot access each other's memory: a
//! message is copied to a work buffer before it is used. They run between the leaders of a team's
//! node groups, by puts and gets. On a node they serve as a comparison with published results.
//!
//! In every algorithm the order in which operands are combined depends only on the members' numbers, and by sockets on
//! which members share one: same inputs, members and algorithm give the same bits. In all algorithms but bruck, all
//! members get the same bits, too.

mod bruck;
mod rabenseifner;
mod recursive_doubling;
mod reduction;
mod sockets;
#[cfg(test)]
mod tests;

use ferroshmem_core::group::{Group, MemberAddresses, ValueOf};
use ferroshmem_layout::{RingValue, SMALL};
use ferroshmem_simd::{self as simd, Operator};
use ferroshmem_tuning::{Algorithm, Collective, EAGER, Form};
use reduction::Reduction;

use super::gather::is_pipelined;
use super::scratch::with_scratch;
use super::slices_of;

/// Who gets the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receiver {
    /// Every member.
    All,
    /// This one.
    Root(usize),
    /// Each member a block of the elements: this one's begins at so many, and has so many.
    Blocks(usize, usize),
}

/// Reduces `n` elements of the operator's type.
///
/// # Safety
/// `dest` and `source` are valid for `n` elements on every member, and aligned; they are the
/// same or do not overlap.
pub unsafe fn reduce<'a>(
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    n: usize,
    op: &'static Operator,
) {
    let r = Reduction { group, dest, source, n, op };
    let bytes = n * op.size();
    if group.size == 1 {
        // SAFETY: the caller promises arrays of `n` elements, the same or not overlapping.
        return unsafe { r.copy(r.dest.of(0), r.source.of(0), n) };
    }
    if n == 0 {
        return group.leave();
    }
    let choice = group.choose(Collective::Reduce, bytes);
    let is_direct = choice.form == Form::Direct;
    let order_matters = group.reproducible && !op.any_order || !op.commutes;
    // SAFETY: the caller promises aligned arrays of `n` elements on every member, the same or not
    // overlapping; each algorithm gets only lengths that it takes.
    unsafe {
        match choice.algorithm {
            Algorithm::Eager if bytes <= EAGER => eager(&r),
            _ if order_matters => slices(&r, None),
            Algorithm::Flat if is_direct => flat(&r),
            Algorithm::Flat => flat_put_get(&r),
            Algorithm::RecursiveDoubling if bytes <= group.flag_bytes() && (is_direct || !group.is_local()) => {
                recursive_doubling::in_flags(&r);
            }
            Algorithm::RecursiveDoubling if is_direct => recursive_doubling::direct(&r),
            Algorithm::RecursiveDoubling if group.has_rendezvous() => {
                recursive_doubling::by_rendezvous(&r);
            }
            Algorithm::RecursiveDoubling => r.in_segments(recursive_doubling::put_get),
            Algorithm::Bruck if is_direct => r.in_segments(bruck::direct),
            Algorithm::Bruck => r.in_segments(bruck::put_get),
            Algorithm::Rabenseifner if is_direct => rabenseifner::direct(&r),
            Algorithm::Rabenseifner => r.in_segments(rabenseifner::put_get),
            Algorithm::Sockets => match group.sockets() {
                Some(sockets) => sockets::reduce(&r, sockets),
                None => slices(&r, None),
            },
            _ => slices(&r, None),
        }
    }
}

/// As [`reduce`], with the result on the root alone, in the members' order.
///
/// # Safety
/// That of [`reduce`]; `dest` counts on the root alone.
pub unsafe fn reduce_root<'a>(
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    n: usize,
    op: &'static Operator,
    root: usize,
) {
    let r = Reduction { group, dest, source, n, op };
    let (me, bytes) = (group.me, n * op.size());
    let own = source.of(me).cast_const();
    // SAFETY: the caller promises aligned arrays of `n` elements, and the values of all members have room for them;
    // the root alone calls this.
    let mut fold = |value: &ValueOf<'_>| unsafe { r.fold((&|_| dest.of(me), 1), (value, group.size), n, false) };
    // SAFETY: as above; each algorithm gets only lengths that it takes.
    unsafe {
        if group.size == 1 {
            r.copy(dest.of(me), own, n);
        } else if n == 0 {
            group.leave();
        } else if is_pipelined(group, bytes) && op.size() <= align_of::<RingValue>() {
            group.gather_small(root, own, bytes, &mut fold);
        } else if bytes <= EAGER {
            let epoch = group.epoch();
            epoch.write_eager(own, bytes);
            epoch.synchronise();
            if me == root {
                fold(&|member| epoch.eager(member).cast_const());
            }
        } else {
            slices(&r, Some(root));
        }
    }
}

/// Reduces block i of all sources to `dest` of member i, in the members' order. `block` says at which element that of
/// a member begins, and how many it has; all have `total` elements.
///
/// # Safety
/// On every member `dest` is valid for its block and `source` for all, and aligned; they do not overlap. Blocks are the
/// same on all members.
pub unsafe fn reduce_scatter<'a>(
    group: &'a Group<'a>,
    dest: MemberAddresses<'a, u8>,
    source: MemberAddresses<'a, u8>,
    (block, total): (&dyn Fn(usize) -> (usize, usize), usize),
    op: &'static Operator,
) {
    let (me, bytes) = (group.me, total * op.size());
    if total == 0 {
        return group.leave();
    }
    // SAFETY: the caller promises aligned arrays of so many elements on every member; each block has one writer.
    unsafe {
        if group.size > 1 && bytes <= EAGER {
            let (first, n) = block(me);
            let r = Reduction { group, dest, source, n, op };
            let epoch = group.epoch();
            epoch.write_eager(source.of(me), bytes);
            epoch.synchronise();
            let own = |member| epoch.eager(member).wrapping_add(first * op.size()).cast_const();
            r.fold((&|_| dest.of(me), 1), (&own, group.size), n, false);
        } else {
            group.share_by_member(bytes / group.size * (1 + group.size), |member| {
                let (first, n) = block(member);
                let r = Reduction { group, dest, source: source.from(first * op.size()), n, op };
                let streaming = simd::past_caches(n * op.size());
                let of = |other| r.source.of(other).cast_const();
                r.fold((&|_| dest.of(member), 1), (&of, group.size), n, streaming);
            });
        }
    }
}

/// A small reduction with one synchronisation: each member copies its values to library memory, so
/// its source may be reused at once and its destination has no other writer.
///
/// # Safety
/// That of [`reduce`]; the values fit the eager buffer.
unsafe fn eager(r: &Reduction<'_>) {
    let (me, size, n) = (r.group.me, r.group.size, r.n);
    let (dest, source) = (r.dest.of(me), r.source.of(me));
    let epoch = r.group.epoch();
    if r.group.has_central_barrier() && n * r.op.size() <= SMALL {
        // Each further page that a PE touches costs a page-table walk whenever the PE is scheduled,
        // so a few bytes go on cache lines that are read anyway.
        let contribution = |m: usize| epoch.contribution(m).cast_const();
        // SAFETY: the caller promises `n` elements at `source` and `dest`; the buffers have room for
        // them. The last member to arrive reads contributions that were written before their
        // owners arrived, and all members read its result before they arrive again.
        unsafe {
            r.copy(epoch.contribution(me), source, n);
            epoch.synchronise_with(|| {
                r.fold((&|_| epoch.result(0), 1), (&contribution, size), n, false);
            });
            r.copy(dest, epoch.result(0), n);
        }
        return;
    }
    let buffer = |m: usize| epoch.eager(m).cast_const();
    // SAFETY: the caller promises `n` elements at `dest` and `source`, and that they fit the eager
    // buffers, which are aligned, and read only after all members have written theirs (see
    // `Epoch::eager`).
    unsafe {
        epoch.write_eager(source, n * r.op.size());
        if r.group.has_central_barrier() {
            // Before the others go on, the last member to arrive alone uses all buffers.
            epoch.synchronise_with(|| {
                r.fold((&|_| epoch.eager(0), 1), (&buffer, size), n, false);
            });
            r.copy(dest, buffer(0), n);
        } else {
            epoch.synchronise();
            r.fold((&|_| dest, 1), (&buffer, size), n, false);
        }
    }
}

/// The flat tree: one member reads every source and writes every destination (Namashivayam et al.:
/// T = p·alpha + 2n(p - 1)·beta + n(p - 1)·gamma). With the central barrier and small arrays, that
/// is the last member to arrive, otherwise member 0.
///
/// # Safety
/// That of [`reduce`].
unsafe fn flat(r: &Reduction<'_>) {
    let size = r.group.size;
    let bytes = 2 * size * r.n * r.op.size();
    r.group.run_on_one(0, bytes, || {
        let (dest, source) = (|m| r.dest.of(m), |m| r.source.of(m).cast_const());
        // SAFETY: the caller promises arrays of `n` elements on every member; all members have
        // entered and only one works.
        unsafe { r.fold((&dest, size), (&source, size), r.n, false) };
    });
}

/// Member 0 gets every source, and puts the result to every destination.
///
/// # Safety
/// That of [`reduce`].
unsafe fn flat_put_get(r: &Reduction<'_>) {
    r.group.sync();
    if r.group.me == 0 {
        with_scratch(|message| {
            for r in r.segments() {
                let (sum, n) = (r.dest.of(0), r.n);
                // SAFETY: the caller promises arrays of `n` elements on every member; the buffer has
                // room for a segment, and between the synchronisations only member 0 works.
                unsafe {
                    r.copy(sum, r.source.of(0), n);
                    for member in 1..r.group.size {
                        r.get(message, &r.source, member, n);
                        r.combine(sum, sum, message, n);
                    }
                    for member in 1..r.group.size {
                        r.put(&r.dest, member, sum, n);
                    }
                }
            }
        });
    }
    r.group.leave();
}

/// Each member reduces its own slice of the elements from all sources to all destinations, or to the root's. All
/// members together read p·n bytes and write p·n, or n, the fewest possible, and each cache line has one
/// writer.
///
/// # Safety
/// That of [`reduce`].
unsafe fn slices(r: &Reduction<'_>, root: Option<usize>) {
    let size = r.group.size;
    let dests = if root.is_some() { 1 } else { size };
    // Each element is read from all sources, which are in the caches as long as they fit.
    let streaming = simd::past_caches(r.n * r.op.size());
    let work = slices_of(r.group, r.n, r.op.size(), dests + size);
    r.group.share_work(work, |part| {
        let r = r.part(part);
        let (dest, source) = (|m| r.dest.of(root.unwrap_or(m)), |m| r.source.of(m).cast_const());
        // SAFETY: the caller promises arrays of `n` elements on every member; all members have
        // entered, and no other member reads or writes these elements.
        unsafe { r.fold((&dest, dests), (&source, size), r.n, streaming) };
    });
}

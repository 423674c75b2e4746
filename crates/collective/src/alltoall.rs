//! All-to-all: member i's block j goes to member j's block i.

use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::offload;
use ferroshmem_tuning::{Algorithm, Collective};

use super::scratch::{SCRATCH, with_scratch};
use super::{copy, copy_part, from_on};

/// Exchanges contiguous blocks of `bytes` bytes.
///
/// # Safety
/// `dest` and `source` are valid for `bytes * group.size` bytes on every member, and do not
/// overlap.
#[inline(always)] // one caller for each kind of group, and small
pub unsafe fn alltoall(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    bytes: usize,
) {
    let me = group.me;
    let choice = group.choose(Collective::Alltoall, bytes);
    let all = bytes * group.size;
    let fits = bytes <= Collective::Alltoall.eager_limit(group.size);
    // SAFETY: the caller promises `group.size` blocks of `bytes` bytes at `dest` and `source` on
    // every member, which do not overlap; each block of a `dest` has one writer.
    unsafe {
        match choice.algorithm {
            Algorithm::Eager | Algorithm::Pull if let Some(width) = width_of_rows(group, bytes) => {
                alltoall_by_relays(group, dest, source, (bytes, width));
            }
            Algorithm::Eager if fits && group.size > 1 => {
                let epoch = group.epoch();
                epoch.write_eager(source.of(me), bytes * group.size);
                epoch.synchronise();
                for member in 0..group.size {
                    let from = epoch.eager(member).wrapping_add(me * bytes);
                    copy(group, dest.from(member * bytes).of(me), from, bytes);
                }
            }
            Algorithm::Push => {
                group.sync();
                for member in from_on(me, group.size) {
                    let to = dest.from(me * bytes).of(member);
                    copy_part(group, to, source.from(member * bytes).of(me), bytes, 2 * all);
                }
                group.leave();
            }
            _ => group.share_by_member(2 * all, |reader| {
                for member in from_on(reader, group.size) {
                    let from = source.from(reader * bytes).of(member);
                    copy_part(group, dest.from(member * bytes).of(reader), from, bytes, 2 * all);
                }
            }),
        }
    }
}

/// From so many members on, short blocks go by way of relays. Below, one step to all members takes less time than two
/// steps to some, and one more synchronisation.
pub(crate) const RELAYED: usize = 256;

/// How many members are in a row, if blocks of `bytes` bytes go by way of relays: where many PEs share cores, all rows
/// can have one length, and the blocks of a member fit the scratch buffer.
fn width_of_rows(group: &Group<'_>, bytes: usize) -> Option<usize> {
    let size = group.size;
    if size < RELAYED || !group.oversubscribed || bytes * size > SCRATCH {
        return None;
    }
    let root = size.isqrt();
    (root..=2 * root).find(|width| size.is_multiple_of(*width))
}

/// Exchanges short blocks in two steps. Members are in rows of `width`. In the first step each member fetches, from the
/// members of its row, what these have for the readers in its column; in the second one, each reader fetches from its
/// column's member in each row. So a member touches the memory of twice the root of all members, and not of all: page
/// tables and caches hold so much.
///
/// # Safety
/// As [`alltoall`]; rows and columns are whole.
#[inline(never)]
unsafe fn alltoall_by_relays(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    (bytes, width): (usize, usize),
) {
    let (me, size) = (group.me, group.size);
    let (column, row) = (me % width, me / width);
    let (rows, step) = (size / width, width * bytes);
    // SAFETY: the caller promises the arrays. What a member fetches in the first step is in its `dest` until all
    // members have done the second one, whose result is in the scratch buffer.
    unsafe {
        group.sync();
        for i in from_on(column, width) {
            let from = source.from(column * bytes).of(row * width + i);
            copy_strided((dest.from(i * bytes).of(me), step), (from, step), rows, bytes);
        }
        group.sync();
        with_scratch(|scratch| {
            for i in from_on(row, rows) {
                let from = dest.from(row * step).of(i * width + column);
                copy(group, scratch.wrapping_add(i * step), from, step);
            }
            group.leave();
            copy(group, dest.of(me), scratch, size * bytes);
        });
    }
    group.traffic().moved(size * bytes, size * bytes);
}

/// The strides of an exchange of single elements, in elements.
#[derive(Debug, Clone, Copy)]
pub struct Strides {
    /// From one element of `dest` to the next.
    pub dest: usize,
    /// From one element of `source` to the next.
    pub source: usize,
    /// Bytes of an element.
    pub elem: usize,
}

/// Exchanges blocks of `n` elements that are `strides` apart.
///
/// # Safety
/// `dest` and `source` hold `n * group.size` elements at their strides, on every member, and
/// do not overlap.
pub unsafe fn alltoalls(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    strides: Strides,
    n: usize,
) {
    let elem = strides.elem;
    let choice = group.choose(Collective::Alltoalls, n * elem);
    let step = (strides.dest * elem, strides.source * elem);
    let block = |reader: usize, writer: usize| {
        let to = dest.from(writer * n * step.0).of(reader);
        let from = source.from(reader * n * step.1).of(writer);
        group.traffic().moved(n * elem, n * elem);
        // SAFETY: the caller promises `n * group.size` elements at their strides, which do not
        // overlap; each block of a `dest` has one writer.
        unsafe { copy_strided((to, step.0), (from, step.1), n, elem) };
    };
    group.share_by_member(2 * n * elem * group.size, |one| {
        for other in from_on(one, group.size) {
            match choice.algorithm {
                Algorithm::Push => block(other, one),
                _ => block(one, other),
            }
        }
    });
}

/// Copies `n` elements of `elem` bytes, each side with its own step in bytes.
///
/// # Safety
/// All elements are readable in `from` and writable in `to`, and do not overlap.
#[inline(never)] // two callers, for each kind of group
unsafe fn copy_strided((to, to_step): (*mut u8, usize), (from, from_step): (*const u8, usize), n: usize, elem: usize) {
    /// Copies an element of a size known at compile time: one load and one store.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `SIZE` bytes.
    unsafe fn each<const SIZE: usize>(to: *mut u8, from: *const u8) {
        // SAFETY: the caller promises `SIZE` bytes on both sides.
        unsafe {
            to.cast::<[u8; SIZE]>().write(from.cast::<[u8; SIZE]>().read());
        };
    }
    // SAFETY: the caller promises `n` elements on both sides, which do not overlap.
    unsafe {
        if to_step == elem && from_step == elem {
            return offload::copy(to, from, n * elem);
        }
        for i in 0..n {
            let (to, from) = (to.add(i * to_step), from.add(i * from_step));
            match elem {
                4 => each::<4>(to, from),
                8 => each::<8>(to, from),
                16 => each::<16>(to, from),
                _ => to.copy_from_nonoverlapping(from, elem),
            }
        }
    }
}

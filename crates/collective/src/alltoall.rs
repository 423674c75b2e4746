//! All-to-all: member i's block j goes to member j's block i.

use std::array;

use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_core::offload;
use ferroshmem_core::wait::POLICY;
use ferroshmem_platform::prefetch_for_write;
use ferroshmem_tuning::{Algorithm, Collective};

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
            Algorithm::Eager | Algorithm::Pull if is_by_few(group, bytes) => {
                alltoall_by_few(group, dest, source, Strides { dest: 1, source: 1, elem: bytes }, 1);
            }
            Algorithm::Eager if fits && group.size > 1 => {
                let epoch = group.epoch();
                epoch.write_eager(source.of(me), bytes * group.size);
                epoch.synchronise();
                let to = dest.of(me);
                for member in 0..group.size {
                    let from = epoch.eager(member).wrapping_add(me * bytes);
                    copy(group, to.wrapping_add(member * bytes), from, bytes);
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

/// From so many members on, few of them do the exchange of short blocks for all.
pub(crate) const BY_FEW: usize = 64;

/// Whether few members exchange blocks of `bytes` bytes for all: where many PEs share cores, and copying takes less
/// time than a page that each PE would map of each other one.
pub(crate) fn is_by_few(group: &Group<'_>, bytes: usize) -> bool {
    /// Bytes of all blocks.
    const MOST: usize = 16 << 20;

    let blocks = group.size * group.size;
    group.size >= BY_FEW && group.oversubscribed && bytes * blocks <= MOST && group.has_central_barrier()
}

/// Exchanges short blocks of many members. As many members as there are cores do so, once all have arrived: so the
/// others map no pages but their own, and the caches and page tables of these last from call to call.
///
/// # Safety
/// As [`alltoall`].
#[inline(never)]
unsafe fn alltoall_by_few(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    strides: Strides,
    n: usize,
) {
    /// Members whose blocks go together: to a cache line at a time. Their own lines have the same place in the caches.
    const TOGETHER: usize = 8;
    /// How many readers ahead the line of their blocks is asked for: each is in a page of its own.
    const AHEAD: usize = 8;

    let (to_step, from_step) = strides.steps();
    group.share_among(POLICY.cores(), group.size.div_ceil(TOGETHER), |task| {
        let first = task * TOGETHER;
        let writers = TOGETHER.min(group.size - first);
        let sources: [_; TOGETHER] = array::from_fn(|i| source.of(first + i.min(writers - 1)));
        let to = |reader| dest.of(reader).wrapping_add(first * n * to_step);
        for reader in 0..group.size {
            prefetch_for_write(to((reader + AHEAD).min(group.size - 1)));
            for (i, from) in sources[..writers].iter().enumerate() {
                let to = (to(reader).wrapping_add(i * n * to_step), to_step);
                let from = (from.wrapping_add(reader * n * from_step).cast_const(), from_step);
                // SAFETY: the caller promises the blocks of all members; each has one writer.
                unsafe { copy_strided(to, from, n, strides.elem) };
            }
        }
        let all = writers * group.size * n * strides.elem;
        group.traffic().moved(all, all);
    });
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

impl Strides {
    /// The same in bytes.
    fn steps(self) -> (usize, usize) {
        (self.dest * self.elem, self.source * self.elem)
    }
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
    let step = strides.steps();
    if choice.algorithm == Algorithm::Pull && is_by_few(group, n * step.0.max(step.1)) {
        // SAFETY: the caller promises the blocks of all members.
        return unsafe { alltoall_by_few(group, dest, source, strides, n) };
    }
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

/// Where the blocks of an exchange of different lengths are, and how long: in elements of `elem` bytes, one for each
/// member.
#[derive(Debug, Clone, Copy)]
pub struct Blocks<'a> {
    /// Where in this member's `dest` the block of each member goes.
    pub dest: MemberAddresses<'a, usize>,
    /// Where in `source` the block for each member is.
    pub source: *const usize,
    /// How long it is.
    pub counts: *const usize,
    /// Bytes of an element.
    pub elem: usize,
}

impl Blocks<'_> {
    /// Offset in `source` and bytes of the block for a member.
    ///
    /// # Safety
    /// The arrays have an element for each member.
    pub(crate) unsafe fn of(&self, member: usize) -> (usize, usize) {
        // SAFETY: the caller promises that the arrays have an element for each member.
        unsafe { [self.source, self.counts].map(|array| array.add(member).read().saturating_mul(self.elem)) }.into()
    }
}

/// Exchanges blocks of different lengths. `dest`, given an offset and a number of bytes, resolves the members' copies
/// of that part of `dest`.
///
/// # Safety
/// `blocks` has an element for each member, and these are the same, or in their place, on all. Blocks are valid and do
/// not overlap.
pub unsafe fn alltoallv<'p>(
    group: &Group<'_>,
    dest: impl Fn(usize, usize) -> MemberAddresses<'p, u8>,
    source: *const u8,
    blocks: &Blocks<'_>,
) {
    group.sync();
    if !group.has_failed() {
        // SAFETY: the caller promises valid blocks, which are ready; each of a `dest` has one writer.
        unsafe {
            let all = (0..group.size).map(|member| blocks.of(member).1).sum::<usize>();
            for member in from_on(group.me, group.size) {
                let (from, bytes) = blocks.of(member);
                if bytes > 0 {
                    let at = blocks.dest.from(group.me).of(member).read().saturating_mul(blocks.elem);
                    copy_part(group, dest(at, bytes).of(member), source.wrapping_add(from), bytes, 2 * all);
                }
            }
        }
    }
    group.leave();
}

/// Copies `n` elements of `elem` bytes, each side with its own step in bytes.
///
/// # Safety
/// All elements are readable in `from` and writable in `to`, and do not overlap.
#[inline(never)] // two callers, for each kind of group
unsafe fn copy_strided((to, to_step): (*mut u8, usize), (from, from_step): (*const u8, usize), n: usize, elem: usize) {
    // SAFETY: the caller promises `n` elements on both sides, which do not overlap.
    unsafe {
        if n > 1 && to_step == elem && from_step == elem {
            return offload::copy(to, from, n * elem);
        }
        for i in 0..n {
            copy_element(to.add(i * to_step), from.add(i * from_step), elem);
        }
    }
}

/// Copies an element of `bytes` bytes.
///
/// # Safety
/// `from` is readable and `to` writable for as many, and they do not overlap.
#[inline(always)] // loops match the size once
unsafe fn copy_element(to: *mut u8, from: *const u8, bytes: usize) {
    /// Of a size known at compile time: one load and one store.
    ///
    /// # Safety
    /// `from` is readable and `to` writable for `SIZE` bytes.
    unsafe fn each<const SIZE: usize>(to: *mut u8, from: *const u8) {
        // SAFETY: the caller promises `SIZE` bytes on both sides.
        unsafe {
            to.cast::<[u8; SIZE]>().write(from.cast::<[u8; SIZE]>().read());
        };
    }
    // SAFETY: the caller promises `bytes` bytes on both sides, which do not overlap.
    unsafe {
        match bytes {
            4 => each::<4>(to, from),
            8 => each::<8>(to, from),
            16 => each::<16>(to, from),
            _ => to.copy_from_nonoverlapping(from, bytes),
        }
    }
}

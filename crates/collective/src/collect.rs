//! Collect and fcollect: every member gathers all sources, in the members' order.

use ferroshmem_core::group::{Epoch, Group, MemberAddresses};
use ferroshmem_core::wait::POLICY;
use ferroshmem_platform::prefetch_for_read;
use ferroshmem_tuning::{Algorithm, Collective, EAGER};

use super::alltoall::is_by_few;
use super::{copy, copy_part, copy_to_socket, from_on};

/// Gathers the same number of bytes from each member.
///
/// # Safety
/// `source` is valid for `bytes` bytes and `dest` for `bytes * group.size`, on every member;
/// they do not overlap.
#[inline(always)] // one caller for each kind of group, and small
pub unsafe fn fcollect(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    bytes: usize,
) {
    let me = group.me;
    let choice = group.choose(Collective::Fcollect, bytes);
    let all = bytes * group.size;
    // SAFETY: the caller promises `bytes` bytes at `source` and as many for each member at `dest`, on
    // every member; each block of a `dest` has one writer.
    unsafe {
        match choice.algorithm {
            _ if group.size == 1 => copy(group, dest.of(me), source.of(me), bytes),
            Algorithm::Eager | Algorithm::Pull if is_by_few(group, bytes) => {
                fcollect_by_few(group, dest, source, bytes);
            }
            Algorithm::Eager if bytes <= EAGER => {
                let epoch = group.epoch();
                epoch.write_eager(source.of(me), bytes);
                epoch.synchronise();
                let to = dest.of(me);
                for member in 0..group.size {
                    copy(group, to.wrapping_add(member * bytes), epoch.eager(member), bytes);
                }
            }
            Algorithm::Push => {
                group.sync();
                let block = dest.from(me * bytes);
                for member in from_on(me, group.size) {
                    copy_part(group, block.of(member), source.of(me), bytes, all);
                }
                group.leave();
            }
            Algorithm::Sockets => {
                group.sync();
                let block = |member: usize| (member, member * bytes, bytes);
                copy_for_socket(group, (0..group.size).map(block), (&dest, &source), all);
                group.leave();
            }
            _ => group.share_by_member(all, |reader| {
                for member in from_on(reader, group.size) {
                    let to = dest.from(member * bytes).of(reader);
                    copy_part(group, to, source.of(member), bytes, all);
                }
            }),
        }
    }
}

/// Gathers short blocks of many members. As many members as there are cores do so for all, once all have arrived: a
/// block is read once for some readers, which get what the first of them has.
///
/// # Safety
/// As [`fcollect`].
#[inline(never)]
unsafe fn fcollect_by_few(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    bytes: usize,
) {
    /// Readers that get a copy of what is gathered once.
    const TOGETHER: usize = 8;
    /// How many members ahead a block is asked for: each is in a page of its own.
    const AHEAD: usize = 8;

    let all = bytes * group.size;
    group.share_among(POLICY.cores(), group.size.div_ceil(TOGETHER), |task| {
        let readers = task * TOGETHER..group.size.min((task + 1) * TOGETHER);
        let row = dest.of(readers.start);
        // SAFETY: the caller promises the blocks of all members; each `dest` has one writer.
        unsafe {
            for member in 0..group.size {
                prefetch_for_read(source.of((member + AHEAD).min(group.size - 1)));
                row.add(member * bytes).copy_from_nonoverlapping(source.of(member), bytes);
            }
            for reader in readers.clone().skip(1) {
                dest.of(reader).copy_from_nonoverlapping(row, all);
            }
        }
        group.traffic().moved(all * readers.len(), all * readers.len());
    });
}

/// Copies those `blocks` that are this member's part to all members of its socket, so that each is read once for
/// a socket: a block is a member, an offset in `dest` and a number of bytes; `whole` as for [`copy_part`]. On one
/// socket every member copies all blocks to itself.
///
/// # Safety
/// All blocks are valid in `dest` and `source` of all members, and the sources are ready.
unsafe fn copy_for_socket(
    group: &Group<'_>,
    blocks: impl Iterator<Item = (usize, usize, usize)>,
    (dest, source): (&MemberAddresses<'_, u8>, &MemberAddresses<'_, u8>),
    whole: usize,
) {
    let (step, position) = match group.sockets() {
        Some(sockets) => (sockets.mine().size, sockets.position),
        None => (1, 0),
    };
    for (member, at, bytes) in blocks.skip(position).step_by(step) {
        let (block, from) = (dest.from(at), source.of(member));
        // SAFETY: the caller promises valid blocks; this member alone writes them on those of its socket.
        unsafe {
            match group.sockets() {
                Some(sockets) => {
                    copy_to_socket(group, &block, sockets.members_on_socket(), from, (bytes, whole));
                }
                None => copy_part(group, block.of(group.me), from, bytes, whole),
            }
        }
    }
}

/// The contributions to a collect, after the members have published their sizes.
struct Contributions<'e> {
    epoch: &'e Epoch<'e>,
    size: usize,
}

impl Contributions<'_> {
    /// Bytes of each member's contribution.
    fn sizes(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.size).map(|m| self.epoch.published(m) as usize)
    }

    /// Member, offset in `dest` and bytes of each contribution.
    fn blocks(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let block = |at: &mut usize, (member, bytes)| {
            let start = *at;
            *at += bytes;
            Some((member, start, bytes))
        };
        self.sizes().enumerate().scan(0, block)
    }
}

/// Gathers `bytes` bytes from this member's `source`, and from each other member as many as it
/// contributes. `addresses`, given the sum of all, resolves `dest` of all members, and `source` of
/// all if `bytes` is not 0: a member without a contribution may pass any address (standard, annex
/// "Undefined Behavior", on null pointers).
///
/// # Safety
/// `source` is valid for `bytes` bytes; it does not overlap `dest`, on any member.
pub unsafe fn collect<'p>(
    group: &Group<'_>,
    source: *const u8,
    bytes: usize,
    addresses: impl FnOnce(usize) -> (MemberAddresses<'p, u8>, MemberAddresses<'p, u8>),
) {
    let me = group.me;
    let epoch = group.epoch();
    epoch.publish(bytes as u64);
    // The longest contribution, which decides whether eager is chosen, is known only after the
    // synchronisation.
    let is_short = bytes <= EAGER && group.has_slots();
    if is_short {
        // SAFETY: the caller promises `bytes` readable bytes at `source`, here at most `EAGER`.
        unsafe { epoch.write_eager(source, bytes) };
    }
    if group.size > 1 {
        epoch.synchronise();
    }
    if group.has_failed() {
        return;
    }
    let all = Contributions { epoch: &epoch, size: group.size };
    let (mut total, mut longest, mut all_have_sources) = (0, 0, true);
    for n in all.sizes() {
        total += n;
        longest = longest.max(n);
        all_have_sources &= n > 0;
    }
    let (dest, source) = addresses(total);
    let mut choice = group.choose(Collective::Collect, total / group.size);
    if choice.algorithm == Algorithm::Eager && longest > EAGER {
        choice = group.choose(Collective::Collect, longest);
    }
    // SAFETY: the caller promises `bytes` bytes at `source`; `addresses` has checked the arrays, and
    // each block of a `dest` has one writer.
    unsafe {
        match choice.algorithm {
            Algorithm::Eager if longest <= EAGER && group.has_slots() => {
                let to = dest.of(me);
                for (member, at, bytes) in all.blocks() {
                    copy(group, to.wrapping_add(at), epoch.eager(member), bytes);
                }
            }
            Algorithm::Pull if all_have_sources => {
                for (member, at, bytes) in all.blocks() {
                    copy_part(group, dest.from(at).of(me), source.of(member), bytes, total);
                }
                group.leave();
            }
            Algorithm::Sockets if all_have_sources => {
                copy_for_socket(group, all.blocks(), (&dest, &source), total);
                group.leave();
            }
            _ => {
                if let Some((_, at, bytes)) = all.blocks().nth(me) {
                    for member in from_on(me, group.size) {
                        copy_part(group, dest.from(at).of(member), source.of(me), bytes, total);
                    }
                }
                group.leave();
            }
        }
    }
}

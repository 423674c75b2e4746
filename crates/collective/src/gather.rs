//! Gather and scatter: a block of each member at the root, and of the root at each member.

use std::mem::MaybeUninit;

use ferroshmem_core::group::{Group, MemberAddresses, ValueOf};
use ferroshmem_layout::RING_BYTES;
use ferroshmem_tuning::EAGER;

use crate::broadcast::RING_MEMBERS;
use crate::{copy, copy_part};

/// Whether values of `bytes` bytes go through the rings.
pub(crate) fn is_pipelined(group: &Group<'_>, bytes: usize) -> bool {
    bytes <= RING_BYTES && (2..=RING_MEMBERS).contains(&group.size)
}

/// Gathers `bytes` bytes of each member in the root's `dest`, in the members' order. The others' `dest` is left alone.
///
/// # Safety
/// `source` is valid for `bytes` bytes on every member, and `dest` for `bytes * group.size` on the root; they do not
/// overlap.
pub unsafe fn gather(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    bytes: usize,
    root: usize,
) {
    let me = group.me;
    let own = source.of(me).cast_const();
    // SAFETY: the caller promises `bytes` bytes at `source` on every member, and as many for each at the root's `dest`;
    // each block has one writer.
    let mut take = |value: &ValueOf<'_>| unsafe {
        for member in 0..group.size {
            copy(group, dest.from(member * bytes).of(me), value(member), bytes);
        }
    };
    // SAFETY: as above.
    unsafe {
        if is_pipelined(group, bytes) {
            group.gather_small(root, own, bytes, &mut take);
        } else if bytes <= EAGER && group.size > 1 {
            let epoch = group.epoch();
            if me != root {
                epoch.write_eager(own, bytes);
            }
            epoch.synchronise();
            if me == root {
                take(&|member| if member == me { own } else { epoch.eager(member) });
            }
        } else {
            group.share_by_member(2 * bytes, |member| {
                copy_part(group, dest.from(member * bytes).of(root), source.of(member), bytes, 2 * bytes);
            });
        }
    }
}

/// Copies block i of `bytes` bytes of the root's `source` to `dest` of member i.
///
/// # Safety
/// `dest` is valid for `bytes` bytes on every member, and `source` for `bytes * group.size` on the root; they do not
/// overlap.
pub unsafe fn scatter(
    group: &Group<'_>,
    dest: MemberAddresses<'_, u8>,
    source: MemberAddresses<'_, u8>,
    bytes: usize,
    root: usize,
) {
    let (me, all) = (group.me, bytes * group.size);
    // SAFETY: the caller promises `bytes` bytes at `dest` on every member, and as many for each at the root's `source`.
    unsafe {
        if is_pipelined(group, all) {
            let mut copied = MaybeUninit::<[u8; RING_BYTES]>::uninit();
            let copied = copied.as_mut_ptr().cast::<u8>();
            let own = source.of(me);
            group.broadcast_small(Some(root), None, copied, own, all);
            let from = if me == root { own } else { copied };
            copy(group, dest.of(me), from.wrapping_add(me * bytes), bytes);
        } else if all <= EAGER && group.size > 1 {
            let epoch = group.epoch();
            if me == root {
                epoch.write_eager(source.of(me), all);
            }
            epoch.synchronise();
            copy(group, dest.of(me), epoch.eager(root).wrapping_add(me * bytes), bytes);
        } else {
            group.share_by_member(2 * bytes, |member| {
                copy_part(group, dest.of(member), source.from(member * bytes).of(root), bytes, 2 * bytes);
            });
        }
    }
}

/// Copies between this member's block and its place in the root's array, `displs[me]` elements of `elem` bytes from
/// the start, once the root is there: `ends`, given this place in bytes, resolves where to and where from.
///
/// # Safety
/// The root's `displs` has an element for each member. What `ends` returns is valid for `bytes` bytes.
pub unsafe fn copy_at(
    group: &Group<'_>,
    (displs, elem): (MemberAddresses<'_, usize>, usize),
    root: usize,
    bytes: usize,
    ends: impl FnOnce(usize) -> [*mut u8; 2],
) {
    group.sync();
    if bytes > 0 && !group.has_failed() {
        // SAFETY: the caller promises an element for each member, and valid ends of the copy.
        unsafe {
            let displacement = displs.from(group.me).of(root).read();
            let [to, from] = ends(displacement.saturating_mul(elem));
            copy_part(group, to, from, bytes, 2 * bytes);
        }
    }
    group.leave();
}

//! Collect and fcollect: each member puts its block to others.

use super::{Call, plain};
use crate::collective::from_on;

/// As [`crate::collective::collect::fcollect`]. A block goes to one member of each other part,
/// from where the part's other members copy it.
///
/// # Safety
/// `dest` and `source` are symmetric; `source` is valid for `bytes` bytes and `dest` for as many
/// from each member; they do not overlap.
pub unsafe fn fcollect(call: &Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let Some(across) = &call.across else {
        // SAFETY: the caller's promise.
        return unsafe { plain::fcollect(call, dest, source, bytes) };
    };
    let (me, size, near) = (call.group.me, call.group.size, &across.near);
    let near_dest = call.near(across, "dest", dest, bytes * size);
    let (all, parts) = (call.places(dest), &across.span.parts);
    across.sync();
    // The members of each part take turns at being those that others put to.
    let receiver = |part: usize, from: usize| from % parts.all()[part].near.size;
    let member_of = |part: usize, index: usize| across.span.member(part, index);
    // SAFETY: the caller's promise; each block of a `dest` is written once.
    unsafe {
        let mine = all.from(me * bytes);
        for part in from_on(across.span.part, parts.all().len()) {
            if part == across.span.part {
                for mate in from_on(near.me, near.size) {
                    let member = member_of(part, mate);
                    across.all.put(&mine, member, source, bytes);
                }
            } else {
                let member = member_of(part, receiver(part, me));
                across.all.put(&mine, member, source, bytes);
            }
        }
        call.leave();
        if near.size > 1 {
            for member in from_on(me, size) {
                let part = parts.of(member).0;
                let holder = receiver(across.span.part, member);
                if part != across.span.part && holder != near.me {
                    let block = near_dest.from(member * bytes);
                    near.get(block.of(near.me), &block, holder, bytes);
                }
            }
            near.sync();
        }
    }
}

/// As [`crate::collective::collect::collect`]; `dest` is looked at once it is known how many
/// bytes there are in all.
///
/// # Safety
/// `source` is symmetric, unless there are no bytes, and valid for `bytes` bytes; it does not
/// overlap `dest`, on any member.
pub unsafe fn collect(
    call: &Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    check: impl FnOnce(usize),
) {
    let epoch = call.group.epoch();
    epoch.publish(bytes as u64);
    epoch.synchronise();
    let (mut before, mut total) = (0, 0);
    for member in 0..call.group.size {
        let length = epoch.published(member) as usize;
        if member < call.group.me {
            before += length;
        }
        total += length;
    }
    check(total);
    if bytes > 0 {
        let mine = call.places(dest).from(before);
        for member in call.in_turn() {
            // SAFETY: the caller's promise; all members have come, and blocks are apart.
            unsafe { call.all().put(&mine, member, source, bytes) };
        }
    }
    call.leave();
}

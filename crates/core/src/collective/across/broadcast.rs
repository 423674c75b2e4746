//! Broadcast: the root's part, then a binomial tree of the parts' leaders, then the other parts.

use super::{Call, plain};
use crate::collective::broadcast as within;
use crate::job::region::LANES;

/// Lane by which child k of a leader says that its `dest` may be written. Beyond the lanes of
/// the synchronisation's rounds.
const READY: usize = 13;
/// Lane by which a leader's parent says that `dest` has been written.
const COPIED: usize = LANES - 1;

/// As [`crate::collective::broadcast::broadcast`].
///
/// # Safety
/// `dest` and `source` are symmetric and valid for `bytes` bytes; they are the same or do not
/// overlap.
pub unsafe fn broadcast(
    call: &Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    let Some(across) = &call.across else {
        // SAFETY: the caller's promise.
        return unsafe { plain::broadcast(call, dest, source, bytes, root, to_root) };
    };
    let (root_part, root_there) = across.span.parts.of(root);
    let has_root = across.span.part == root_part;
    let (near_dest, near_source) = (
        call.near(across, "dest", dest, bytes),
        call.near(across, "source", source, bytes),
    );
    if has_root {
        let near = &across.near;
        // SAFETY: the caller's promise.
        unsafe { within::broadcast(near, near_dest, near_source, bytes, root_there, to_root) };
    }
    if let Some(leaders) = &across.leaders {
        // Its own memory alone: a root goes on as soon as its part has the values.
        let is_root = has_root && across.near.me == root_there;
        let from = if is_root { source } else { dest };
        let (me, size) = (leaders.me, leaders.size);
        let number = (me + size - root_part) % size;
        let member = |number: usize| (number + root_part) % size;
        let epoch = leaders.epoch();
        if number > 0 {
            // The parent lacks the highest bit.
            let bit = number.ilog2() as usize;
            epoch.post(member(number - (1 << bit)), READY + bit);
            epoch.wait(COPIED);
        }
        let first = number.checked_ilog2().map_or(0, |bit| bit as usize + 1);
        let all = call.places(dest);
        for bit in (first..).take_while(|bit| number + (1 << bit) < size) {
            let child = member(number + (1 << bit));
            epoch.wait(READY + bit);
            // SAFETY: the caller's promise; the child has come, and waits.
            unsafe { leaders.put(&all, child, from, bytes) };
            epoch.post(child, COPIED);
        }
        // Nobody completes the epoch before all have entered it.
        epoch.synchronise();
    }
    if !has_root && across.near.size > 1 {
        // SAFETY: the caller's promise; the leader has the root's values.
        unsafe { within::broadcast(&across.near, near_dest, near_dest, bytes, 0, false) };
    }
}

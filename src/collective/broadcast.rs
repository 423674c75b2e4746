//! Broadcast: every member reads the root's source.

use super::copy;
use crate::group::Group;

/// Copies `bytes` bytes of member `root`'s `source` to `dest` on the members; on the root
/// itself only if `to_root` (teams: yes, active sets: no).
///
/// # Safety
/// `dest` and `source` are valid for `bytes` bytes on every member.
pub unsafe fn broadcast(
    group: &Group<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    group.sync();
    if bytes > 0 && (group.me != root || to_root) {
        let from = group.remote("source", source, bytes, root);
        let to = group.remote("dest", dest, bytes, group.me);
        // SAFETY: both found to be symmetric; the root's source is constant during the call.
        unsafe { copy(to, from, bytes) };
    }
    group.sync();
}

//! Collect and fcollect: every member gathers all sources, in the members' order.

use super::copy;
use crate::group::Group;

/// Gathers the same number of bytes from each member.
///
/// # Safety
/// `source` is valid for `bytes` bytes and `dest` for `bytes * group.size()`.
pub unsafe fn fcollect(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    group.sync();
    if bytes > 0 {
        let to = group.remote("dest", dest, bytes * group.size(), group.me);
        // Each begins at its own block, so that not all read the same PE at once.
        for i in 0..group.size() {
            let member = (group.me + i) % group.size();
            let from = group.remote("source", source, bytes, member);
            // SAFETY: found to be symmetric; the blocks of `dest` do not overlap.
            unsafe { copy(to.add(member * bytes), from, bytes) };
        }
    }
    group.sync();
}

/// Gathers `bytes` bytes from this member and as many as each other one says.
///
/// # Safety
/// `source` is valid for `bytes` bytes, `dest` for the sum over all members.
pub unsafe fn collect(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    group.publish(bytes as u64);
    group.sync();
    let sizes: Vec<usize> = (0..group.size())
        .map(|m| group.published(m) as usize)
        .collect();
    let total: usize = sizes.iter().sum();
    if total > 0 {
        let to = group.remote("dest", dest, total, group.me);
        let mut at = 0;
        for (member, size) in sizes.into_iter().enumerate().filter(|(_, size)| *size > 0) {
            let from = group.remote("source", source, size, member);
            // SAFETY: found to be symmetric; the blocks of `dest` follow each other.
            unsafe { copy(to.add(at), from, size) };
            at += size;
        }
    }
    group.sync();
    group.unpublish();
}

//! All-to-all: member i's block j goes to member j's block i.

use super::copy;
use crate::group::Group;

/// Exchanges contiguous blocks of `bytes` bytes.
///
/// # Safety
/// `dest` and `source` are valid for `bytes * group.size()` bytes and do not overlap.
pub unsafe fn alltoall(group: &Group<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    group.sync();
    let all = bytes * group.size();
    if all > 0 {
        let to = group.remote("dest", dest, all, group.me);
        for i in 0..group.size() {
            let member = (group.me + i) % group.size();
            let from = group.remote("source", source, all, member);
            // SAFETY: found to be symmetric; block `me` of the source, block `member` of dest.
            unsafe { copy(to.add(member * bytes), from.add(group.me * bytes), bytes) };
        }
    }
    group.sync();
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
/// `dest` and `source` hold `n * group.size()` elements at their strides and do not overlap.
pub unsafe fn alltoalls(
    group: &Group<'_>,
    dest: *mut u8,
    source: *const u8,
    strides: Strides,
    n: usize,
) {
    group.sync();
    let all = n * group.size();
    if all > 0 {
        let elem = strides.elem;
        let extent = |stride: usize| ((all - 1) * stride + 1) * elem;
        let to = group.remote("dest", dest, extent(strides.dest), group.me);
        for i in 0..group.size() {
            let member = (group.me + i) % group.size();
            let from = group.remote("source", source, extent(strides.source), member);
            for e in 0..n {
                // SAFETY: element `block * n + e` of each array, within its extent.
                unsafe {
                    copy(
                        to.add((member * n + e) * strides.dest * elem),
                        from.add((group.me * n + e) * strides.source * elem),
                        elem,
                    );
                }
            }
        }
    }
    group.sync();
}

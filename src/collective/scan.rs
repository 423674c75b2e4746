//! Prefix sums over the members (standard, `shmem_sum_inscan`, `shmem_sum_exscan`).
//!
//! As in a reduction each member works on its own slice of the elements, for all members.

use super::ops::{Reduce, Sum};
use super::{places, slice_of};
use crate::group::Group;

/// `dest[i]` on member m = sum of `source[i]` over members 0 to m, or to m - 1 if not
/// `inclusive` (then 0 on member 0).
///
/// # Safety
/// `dest` and `source` are valid for `n` elements on every member, and aligned.
pub unsafe fn scan<T: Reduce<Sum>>(
    group: &Group<'_>,
    dest: *mut T,
    source: *const T,
    n: usize,
    inclusive: bool,
) {
    group.sync();
    let mine = slice_of(group, n, size_of::<T>());
    if !mine.is_empty() {
        let sources = places(group, "source", source, n);
        let dests = places(group, "dest", dest, n);
        for i in mine {
            // SAFETY: element i of the slice, which only this member reads and writes.
            unsafe { scan_element(&sources, &dests, i, inclusive) };
        }
    }
    group.sync();
}

/// # Safety
/// Element `i` of all sources and destinations is this member's.
unsafe fn scan_element<T: Reduce<Sum>>(
    sources: &[*mut T],
    dests: &[*mut T],
    i: usize,
    inclusive: bool,
) {
    // SAFETY: all-zero bytes are the number 0 in every type that sums; the caller's promise
    // covers the elements.
    unsafe {
        let mut sum: T = std::mem::zeroed();
        for (source, dest) in sources.iter().zip(dests) {
            let value = source.add(i).read();
            if !inclusive {
                dest.add(i).write(sum);
            }
            T::combine(&raw mut sum, &raw const sum, &raw const value, 1);
            if inclusive {
                dest.add(i).write(sum);
            }
        }
    }
}

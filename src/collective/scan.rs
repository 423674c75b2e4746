//! Prefix sums over the members (standard, `shmem_sum_inscan`, `shmem_sum_exscan`).
//!
//! As in a reduction each member works on its own slice of the elements, for all members.

use super::ops::{Reduce, Sum};
use super::slice_of;
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
    let bytes = n * size_of::<T>();
    for i in slice_of(group, n, size_of::<T>()) {
        // SAFETY: all-zero bytes are the number 0 in every type that sums.
        let mut sum: T = unsafe { std::mem::zeroed() };
        for member in 0..group.size() {
            let from = group.remote("source", source, bytes, member).cast::<T>();
            let to = group.remote("dest", dest, bytes, member).cast::<T>();
            // SAFETY: element i of the slice that only this member reads and writes.
            unsafe {
                let value = from.add(i).read();
                if !inclusive {
                    to.add(i).write(sum);
                }
                T::combine(std::slice::from_mut(&mut sum), &[value]);
                if inclusive {
                    to.add(i).write(sum);
                }
            }
        }
    }
    group.sync();
}

//! Reduction: each part for itself, then its leaders, whose result each part shares.

use super::{Call, plain};
use crate::collective::{broadcast as within, reduce as flat};
use crate::kernel::{Operation, Reduce};

/// As [`crate::collective::reduce::reduce`].
///
/// # Safety
/// `dest` and `source` are symmetric, aligned and valid for `n` elements; they are the same or
/// do not overlap.
pub unsafe fn reduce<T: Reduce<Op>, Op>(call: &Call<'_>, dest: *mut T, source: *const T, n: usize) {
    let op = Operation::of::<T, Op>();
    let bytes = n * op.size;
    let Some(across) = call
        .across
        .as_ref()
        .filter(|_| !call.group.reproducible || op.any_order)
    else {
        // SAFETY: the caller's promise.
        return unsafe { plain::reduce(call, dest.cast(), source.cast(), n, op) };
    };
    let (near_dest, near_source) = (
        call.near(across, "dest", dest, bytes),
        call.near(across, "source", source, bytes),
    );
    let alone = across.near.size == 1;
    // SAFETY: the caller's promise. The leaders' arrays are theirs while their parts wait.
    unsafe {
        if !alone {
            flat::reduce_bytes(&across.near, near_dest, near_source, n, op);
        }
        if let Some(leaders) = &across.leaders {
            let all = call.places(dest);
            let from = if alone { call.places(source) } else { all };
            flat::reduce_bytes(leaders, all, from, n, op);
        }
        if !alone {
            within::broadcast(&across.near, near_dest, near_dest, bytes, 0, false);
        }
    }
}

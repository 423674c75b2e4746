//! All-to-all: each member puts its blocks where they belong.

use super::Call;
use crate::collective::alltoall::Strides;

/// As [`crate::collective::alltoall::alltoall`].
///
/// # Safety
/// `dest` and `source` are symmetric, valid for `bytes` bytes for each member, and do not
/// overlap.
pub unsafe fn alltoall(call: &Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let mine = call.places(dest).from(call.group.me * bytes);
    call.sync();
    for member in call.in_turn() {
        let from = source.wrapping_add(member * bytes);
        // SAFETY: the caller's promise; this member alone writes this block of each `dest`.
        unsafe { call.all().put(&mine, member, from, bytes) };
    }
    call.leave();
}

/// As [`crate::collective::alltoall::alltoalls`].
///
/// # Safety
/// `dest` and `source` are symmetric, hold `n` elements for each member at their strides, and
/// do not overlap.
pub unsafe fn alltoalls(
    call: &Call<'_>,
    dest: *mut u8,
    source: *const u8,
    strides: Strides,
    n: usize,
) {
    let elem = strides.elem;
    let (to_step, from_step) = (strides.dest * elem, strides.source * elem);
    let mine = call.places(dest).from(call.group.me * n * to_step);
    call.sync();
    for member in call.in_turn() {
        let from = source.wrapping_add(member * n * from_step);
        // SAFETY: as in `alltoall`.
        unsafe {
            call.all()
                .put_strided(&mine, to_step, member, (from, from_step), elem, n);
        }
    }
    call.leave();
}

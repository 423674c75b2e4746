//! The collectives of an active set for which no team is left: with nothing but puts, gets, and
//! the synchronisation by its work array.

use super::Call;
use crate::collective::scratch::{SCRATCH, with_scratch};
use crate::kernel::Operation;

/// Each member gets the root's source.
///
/// # Safety
/// That of [`super::broadcast`].
pub(super) unsafe fn broadcast(
    call: &Call<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    call.sync();
    if call.group.me != root || to_root {
        // SAFETY: the caller's promise; all members are here.
        unsafe { call.all().get(dest, &call.places(source), root, bytes) };
    }
    call.leave();
}

/// Each member puts its block to all.
///
/// # Safety
/// That of [`super::fcollect`].
pub(super) unsafe fn fcollect(call: &Call<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let mine = call.places(dest).from(call.group.me * bytes);
    call.sync();
    for member in call.in_turn() {
        // SAFETY: the caller's promise; each block of a `dest` has one writer.
        unsafe { call.all().put(&mine, member, source, bytes) };
    }
    call.leave();
}

/// Each member reduces a part of the elements, with all operands of an element at once, in the
/// members' order: also for sums that do not depend on how the members lie on nodes.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce(
    call: &Call<'_>,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    op: &'static Operation,
) {
    let size = call.group.size;
    // One piece of each member's source, and the result.
    let longest = (SCRATCH / (size + 1) / op.size).max(1);
    let (dest, source) = (call.places(dest), call.places(source));
    let fold = if call.group.reproducible {
        op.fold_exact
    } else {
        op.fold
    };
    call.sync();
    let work = |buffer: *mut u8| {
        for piece in call.pieces(n, longest) {
            let at = piece.start * op.size;
            let bytes = piece.len() * op.size;
            let operand = |member: usize| buffer.wrapping_add(member * longest * op.size);
            let result = operand(size);
            // SAFETY: the caller's promise; all members are here, and these elements are this
            // member's alone; the buffer has room for them once more than there are members.
            unsafe {
                for member in call.in_turn() {
                    call.all()
                        .get(operand(member), &source.from(at), member, bytes);
                }
                let operands = |member: usize| operand(member).cast_const();
                fold((&|_| result, 1), (&operands, size), piece.len(), false);
                for member in call.in_turn() {
                    call.all().put(&dest.from(at), member, result, bytes);
                }
            }
        }
    };
    if (size + 1) * op.size <= SCRATCH {
        with_scratch(work);
    } else {
        let mut buffer = vec![0u128; ((size + 1) * op.size).div_ceil(16)];
        work(buffer.as_mut_ptr().cast());
    }
    call.leave();
}

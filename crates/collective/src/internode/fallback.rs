//! The collectives of an active set for which no team is left: by puts, gets, and synchronisation
//! by its work array alone.

use ferroshmem_simd::Operator;

use super::InternodeCall;
use crate::reduce::Receiver;
use crate::scratch::{SCRATCH, with_scratch};

/// Each member gets the root's source.
///
/// # Safety
/// That of [`super::broadcast`].
pub(super) unsafe fn broadcast(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    root: usize,
    to_root: bool,
) {
    call.sync();
    if call.group.me != root || to_root {
        // SAFETY: the caller promises `bytes` bytes at `dest` and `source` on every member; all
        // members have entered.
        unsafe { call.all().get(dest, &call.addresses(source), root, bytes) };
    }
    call.leave();
}

/// Each member puts its block to all.
///
/// # Safety
/// That of [`super::fcollect`].
pub(super) unsafe fn fcollect(call: &InternodeCall<'_>, dest: *mut u8, source: *const u8, bytes: usize) {
    let mine = call.addresses(dest).from(call.group.me * bytes);
    call.sync();
    for member in call.in_turn() {
        // SAFETY: the caller promises `bytes` bytes at `source`, and as many for each member at
        // `dest`; each block of a `dest` has one writer.
        unsafe { call.all().put(&mine, member, source, bytes) };
    }
    call.leave();
}

/// Each member reduces a share of the elements, with all operands of an element at once, in the
/// members' order, and puts the result to the receivers. So sums do not depend on how the members lie
/// on nodes, and reproducible sums of teams use this function too.
///
/// # Safety
/// That of [`super::reduce`].
pub(super) unsafe fn reduce(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    op: &'static Operator,
    receiver: Receiver,
) {
    let size = call.group.size;
    // One chunk of each member's source, and the result.
    let longest = (SCRATCH / (size + 1) / op.size()).max(1);
    let (dest, source) = (call.addresses(dest), call.addresses(source));
    let share = match receiver {
        Receiver::Blocks(first, n) => first..first + n,
        _ => call.share(n),
    };
    call.sync();
    let work = |buffer: *mut u8| {
        for chunk in InternodeCall::chunks(share.clone(), longest) {
            let at = chunk.start * op.size();
            let bytes = chunk.len() * op.size();
            let operand = |member: usize| buffer.wrapping_add(member * longest * op.size());
            let result = operand(size);
            // SAFETY: the caller promises arrays of `n` elements on every member; all members have
            // entered, and only this one uses these elements. The buffer has room for them `size`
            // + 1 times.
            unsafe {
                for member in call.in_turn() {
                    call.all().get(operand(member), &source.from(at), member, bytes);
                }
                let operands = |member: usize| operand(member).cast_const();
                op.fold(call.group.reproducible, (&|_| result, 1), (&operands, size), chunk.len(), false);
                match receiver {
                    Receiver::All => {
                        for member in call.in_turn() {
                            call.all().put(&dest.from(at), member, result, bytes);
                        }
                    }
                    Receiver::Root(root) => call.all().put(&dest.from(at), root, result, bytes),
                    // A member's share is its block.
                    Receiver::Blocks(first, _) => {
                        let block = dest.of(call.group.me).wrapping_add(at - first * op.size());
                        block.copy_from_nonoverlapping(result, bytes);
                    }
                }
            }
        }
    };
    if (size + 1) * op.size() <= SCRATCH {
        with_scratch(work);
    } else {
        let mut buffer = vec![0u128; ((size + 1) * op.size()).div_ceil(16)];
        work(buffer.as_mut_ptr().cast());
    }
    call.leave();
}

//! Reductions and prefix sums between nodes.

use std::ptr;

use ferroshmem_simd::Operator;

use super::InternodeCall;
use super::fallback;
use crate::broadcast::broadcast;
use crate::reduce::{self, Receiver};
use crate::scratch::{SCRATCH, with_scratch};

/// As [`crate::reduce::reduce`]: each node group reduces to its leader, the leaders
/// reduce, and each node group shares its leader's result. Other results than for all members by puts and gets between
/// all, where `n` is the number of elements of a source.
///
/// # Safety
/// `dest` and `source` are symmetric, aligned and valid for `n` elements; they are the same or
/// do not overlap.
pub unsafe fn reduce(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    op: &'static Operator,
    receiver: Receiver,
) {
    let bytes = n * op.size();
    let order_matters = call.group.reproducible && !op.any_order || !op.commutes;
    let by_groups = receiver == Receiver::All && !order_matters;
    let Some(subgroups) = call.subgroups.as_ref().filter(|_| by_groups) else {
        // SAFETY: the caller promises aligned arrays of `n` elements on every member.
        return unsafe { fallback::reduce(call, dest, source, n, op, receiver) };
    };
    let (local_dest, local_source) = (
        call.local_addresses(subgroups, "dest", dest, bytes),
        call.local_addresses(subgroups, "source", source, bytes),
    );
    let alone = subgroups.local.size == 1;
    // SAFETY: the caller promises aligned arrays of `n` elements on every member, the same or not
    // overlapping. Only the leaders use their arrays while their node groups wait.
    unsafe {
        if !alone {
            reduce::reduce(&subgroups.local, local_dest, local_source, n, op);
        }
        if let Some(leaders) = &subgroups.leaders {
            let all = call.addresses(dest);
            // Leaders get from each other, so all have their operands in one array.
            let all_alone = leaders.size == call.group.size;
            if alone && !all_alone && !ptr::eq(dest, source) {
                dest.copy_from_nonoverlapping(source, bytes);
            }
            let from = if all_alone { call.addresses(source) } else { all };
            reduce::reduce(leaders, all, from, n, op);
        }
        if !alone {
            broadcast(&subgroups.local, local_dest, local_dest, bytes, 0, false);
        }
    }
}

/// As [`crate::scan::scan`]. Each member adds up a share of the elements, for all members
/// and in their order, so that the sums have the same bits however the members lie on nodes.
///
/// # Safety
/// `dest` and `source` are symmetric, aligned and valid for `n` elements; they are the same or
/// do not overlap.
pub unsafe fn scan(
    call: &InternodeCall<'_>,
    dest: *mut u8,
    source: *const u8,
    n: usize,
    op: &'static Operator,
    inclusive: bool,
) {
    let longest = SCRATCH / op.size() / 3;
    let (dest, source) = (call.addresses(dest), call.addresses(source));
    let all = call.all();
    call.sync();
    with_scratch(|buffer| {
        let part = |i: usize| buffer.wrapping_add(i * longest * op.size());
        for chunk in InternodeCall::chunks(call.share(n), longest) {
            let at = chunk.start * op.size();
            let (len, bytes) = (chunk.len(), chunk.len() * op.size());
            let (operand, mut sum, mut next) = (part(0), part(1), part(2));
            // SAFETY: the caller promises aligned arrays of `n` elements on every member; all members
            // have entered, and only this one uses these elements. The buffer has room for three
            // pieces; all bytes zero are the number 0. A source is read before the destination,
            // which may be the same, is written.
            unsafe {
                sum.write_bytes(0, bytes);
                for member in 0..call.group.size {
                    all.get(operand, &source.from(at), member, bytes);
                    if member == 0 {
                        // Not 0 + source: that would lose the sign of -0.0.
                        next.copy_from_nonoverlapping(operand, bytes);
                    } else {
                        (op.combine)(next, sum, operand, len);
                    }
                    let result = if inclusive { next } else { sum };
                    all.put(&dest.from(at), member, result, bytes);
                    (sum, next) = (next, sum);
                }
            }
        }
    });
    call.leave();
}

//! Collect and fcollect.

use std::ptr::null_mut;

use ferroshmem_core::group::{Group, MemberAddresses};
use ferroshmem_tuning::Collective;

use super::{Arrays, TestCall, data, everywhere};
use crate::collect::{collect, fcollect};

pub(super) fn check_fcollect(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    let mine = data(call, me, call.bytes);
    arrays.prepare(call, me, mine);
    let (dest, source) = arrays.addresses(call, me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe { fcollect(group, dest, source, call.bytes) };
    let blocks = (0..group.size).map(|m| data(call, m, call.bytes));
    let result = blocks.collect::<Vec<_>>().concat();
    arrays.check(call, me, mine, &result);
}

/// How many bytes a member contributes.
pub(super) fn contribution(call: &TestCall, size: usize, m: usize) -> usize {
    match call.salt % 6 {
        0 => call.bytes,
        // One has all: the mean may be short where this is long.
        1 => call.bytes * usize::from(m == call.root),
        2 => call.bytes * usize::from(m != call.root),
        3 => call.bytes * (m + 1) / size,
        4 => call.bytes.min(8 * (m % 3)),
        _ => call.bytes * usize::from(m.is_multiple_of(2)),
    }
}

pub(super) fn check_collect(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let (me, size) = (group.me, group.size);
    let bytes = |m| contribution(call, size, m);
    let mine = data(call, me, bytes(me));
    arrays.prepare(call, me, mine);
    let (dest, source) = arrays.addresses(call, me);
    // A member without a contribution need not have a source.
    let (start, source) = match mine.len() {
        0 => (null_mut(), MemberAddresses::at_stride(null_mut(), 0, me)),
        _ => (source.of(me), source),
    };
    let total: usize = (0..size).map(bytes).sum();
    let addresses = |sum| {
        assert_eq!(sum, total, "{call:?}");
        (dest, source)
    };
    // SAFETY: the arrays are long enough; all members call this.
    unsafe { collect(group, start, mine.len(), addresses) };
    let blocks = (0..size).map(|m| data(call, m, bytes(m)));
    let result = blocks.collect::<Vec<_>>().concat();
    arrays.check(call, me, mine, &result);
}

#[test]
fn fcollect_gathers_equal_blocks() {
    everywhere(Collective::Fcollect);
}

#[test]
fn collect_gathers_blocks_of_any_lengths() {
    everywhere(Collective::Collect);
}

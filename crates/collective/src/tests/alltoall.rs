//! All-to-all, contiguous and strided.

use ferroshmem_core::group::Group;
use ferroshmem_tuning::{Collective, EAGER};

use super::{Arrays, GUARD, MOST, TestCall, UNTOUCHED, calls, data, everywhere, run_oversubscribed};
use crate::alltoall::{BY_FEW, Strides, alltoall, alltoalls};

/// What member `from` has for member `to`.
fn block(call: &TestCall, from: usize, to: usize, bytes: usize) -> &'static [u8] {
    data(call, from * 100 + to, bytes)
}

/// What a member has for all, and what it gets from all.
fn blocks(call: &TestCall, group: &Group<'_>, bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let (me, members) = (group.me, 0..group.size);
    let mine: Vec<_> = members.clone().map(|m| block(call, me, m, bytes)).collect();
    let others: Vec<_> = members.map(|m| block(call, m, me, bytes)).collect();
    (mine.concat(), others.concat())
}

pub(super) fn check(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let (mine, result) = blocks(call, group, call.bytes);
    arrays.prepare(call, group.me, &mine);
    let (dest, source) = arrays.addresses(call, group.me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe { alltoall(group, dest, source, call.bytes) };
    arrays.check(call, group.me, &mine, &result);
}

/// Sizes of elements and strides, by the salt of a call.
fn strides(call: &TestCall) -> Strides {
    Strides { dest: 1 + call.salt / 5 % 3, source: 1 + call.salt / 15 % 3, elem: [1, 2, 4, 8, 16][call.salt % 5] }
}

/// `elements` at a stride, with nothing between them.
fn spread(elements: &[u8], elem: usize, stride: usize) -> Vec<u8> {
    let mut all = Vec::with_capacity(elements.len() * stride);
    for element in elements.chunks(elem) {
        all.resize(all.len().next_multiple_of(stride * elem), UNTOUCHED);
        all.extend_from_slice(element);
    }
    all
}

pub(super) fn check_strided(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    /// Most bytes of a block: with strides it takes up to thrice as many.
    const LONGEST: usize = MOST / 8;

    let strides = strides(call);
    let n = call.bytes.min(LONGEST) / strides.elem;
    let (mine, result) = blocks(call, group, n * strides.elem);
    let mine = spread(&mine, strides.elem, strides.source);
    let result = spread(&result, strides.elem, strides.dest);
    arrays.prepare(call, group.me, &mine);
    let (dest, source) = arrays.addresses(call, group.me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe { alltoalls(group, dest, source, strides, n) };
    arrays.check(call, group.me, &mine, &result);
}

#[test]
fn blocks_go_where_they_belong() {
    everywhere(Collective::Alltoall);
}

/// Eager takes all blocks of a member together.
#[test]
fn blocks_around_the_limit_of_eager() {
    for size in [2, 3, 8, 17] {
        let limit = EAGER / size;
        let arrays = Arrays::new(size, size * (limit + GUARD));
        let calls = calls(Collective::Alltoall, &[limit - 1, limit, limit + 1], size);
        run_oversubscribed(size, |member| {
            for call in &calls {
                call.check(&arrays, &member);
            }
        });
    }
}

/// Few members exchange the short blocks of many, so many at a time as fit a cache line.
#[test]
fn short_blocks_of_many() {
    for size in [BY_FEW - 1, BY_FEW, BY_FEW + 1, 131] {
        let arrays = Arrays::new(size, size * (16 + GUARD));
        let calls = calls(Collective::Alltoall, &[1, 8, 13], size);
        run_oversubscribed(size, |member| {
            for call in &calls {
                call.check(&arrays, &member);
            }
        });
    }
}

#[test]
fn strided_elements_go_where_they_belong() {
    everywhere(Collective::Alltoalls);
}

//! Sums, for sequences with other collectives; reductions have tests of their own.

use std::sync::Arc;

use ferroshmem_core::group::Group;
use ferroshmem_simd::Operator;
use ferroshmem_simd::ops::Sum;

use super::{Arrays, TestCall, bytes_of, data};
use crate::reduce::reduce;

/// The sum of all members' numbers, which the first member that asks for it makes.
fn sum(arrays: &Arrays, call: &TestCall, size: usize) -> Arc<[u8]> {
    let mut last = arrays.sum.lock().unwrap();
    let key = (call.salt, call.bytes);
    if last.0 != key {
        let mut sum = vec![0; call.bytes / 8];
        for m in 0..size {
            let numbers = data(call, m, sum.len() * 8).as_chunks().0;
            for (sum, x) in sum.iter_mut().zip(numbers) {
                *sum = u64::wrapping_add(*sum, u64::from_ne_bytes(*x));
            }
        }
        *last = (key, (&*bytes_of(&mut sum)).into());
    }
    last.1.clone()
}

pub(super) fn check(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    let n = call.bytes / 8;
    let mine = data(call, me, n * 8);
    arrays.prepare(call, me, mine);
    let (dest, source) = arrays.addresses::<u64>(call, me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe {
        reduce(group, dest.bytes(), source.bytes(), n, Operator::of::<u64, Sum>());
    };
    arrays.check(call, me, mine, &sum(arrays, call, group.size));
}

//! Sums, for sequences with other collectives; reductions have tests of their own.

use ferroshmem_core::group::Group;
use ferroshmem_simd::Operator;
use ferroshmem_simd::ops::Sum;

use super::{Arrays, Random, TestCall};
use crate::reduce::reduce;

pub(super) fn check(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    let n = call.bytes / 8;
    let bytes = |numbers: &[u64]| -> Vec<u8> { numbers.iter().flat_map(|x| x.to_ne_bytes()).collect() };
    let numbers = |m: usize| -> Vec<u64> {
        let mut random = Random::new((call.salt * 1000 + m) as u64);
        (0..n).map(|_| random.next()).collect()
    };
    let mine = bytes(&numbers(me));
    arrays.prepare(call, me, &mine);
    let (dest, source) = arrays.addresses::<u64>(call, me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe {
        reduce(group, dest.bytes(), source.bytes(), n, Operator::of::<u64, Sum>());
    };
    let mut sum = vec![0u64; n];
    for m in 0..group.size {
        for (sum, x) in sum.iter_mut().zip(numbers(m)) {
            *sum = sum.wrapping_add(x);
        }
    }
    arrays.check(call, me, &mine, &bytes(&sum));
}

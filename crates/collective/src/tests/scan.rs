//! Prefix sums.

use std::fmt::Debug;

use ferroshmem_core::group::Group;
use ferroshmem_core::group::threads::Array;
use ferroshmem_layout::SHORT_RING_ENTRIES;
use ferroshmem_simd::ops::Sum;
use ferroshmem_simd::{Bf16, Operator, Reduce};
use ferroshmem_tuning::{Algorithm, Choice, Collective, DecisionTable};

use super::{Arrays, Random, TestCall, everywhere, run_oversubscribed};
use crate::broadcast::broadcast;
use crate::scan::scan;

/// Numbers whose sums are other numbers in another order, and whose bits are told apart.
trait Number: Reduce<Sum> + Debug {
    const ZERO: Self;
    fn of(random: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($t:ty, $of:expr, $plus:expr);*) => {$(
        impl Number for $t {
            const ZERO: Self = 0 as $t;
            fn of(random: u64) -> Self {
                $of(random)
            }
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn bytes(self) -> Vec<u8> {
                self.to_ne_bytes().to_vec()
            }
        }
    )*};
}

/// Now and then a zero with its sign.
fn float(random: u64) -> f64 {
    match random % 11 {
        0 => -0.0,
        _ => f64::from(random as i32) * 2f64.powi((random >> 32) as i32 % 40),
    }
}

numbers! {
    u8, |r| r as u8, u8::wrapping_add;
    i16, |r| r as i16, i16::wrapping_add;
    i64, |r| r as i64, i64::wrapping_add;
    f32, |r| float(r) as f32, |a: f32, b: f32| a + b;
    f64, float, |a: f64, b: f64| a + b
}

/// A sum is rounded at each member, to the nearest number, of two to the one that is even.
impl Number for Bf16 {
    const ZERO: Self = Self(0);
    fn of(random: u64) -> Self {
        Self(((float(random) as f32).to_bits() >> 16) as u16)
    }
    fn plus(self, other: Self) -> Self {
        let [a, b] = [self, other].map(|number| f32::from_bits(u32::from(number.0) << 16));
        let bits = (a + b).to_bits();
        Self(((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16)
    }
    fn bytes(self) -> Vec<u8> {
        self.0.to_ne_bytes().to_vec()
    }
}

/// Most bytes: several blocks of the algorithms.
const LONGEST: usize = 10_000;

fn check_type<T: Number>(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    let me = group.me;
    let n = call.bytes.min(LONGEST) / size_of::<T>();
    let inclusive = call.salt % 4 < 2;
    let numbers = |m: usize| -> Vec<T> {
        let mut random = Random::new((call.salt * 1000 + m) as u64);
        (0..n).map(|_| T::of(random.next())).collect()
    };
    let bytes = |numbers: Vec<T>| -> Vec<u8> { numbers.into_iter().flat_map(T::bytes).collect() };
    let mine = bytes(numbers(me));
    arrays.prepare(call, me, &mine);
    let (dest, source) = arrays.addresses::<T>(call, me);
    // SAFETY: the arrays are long enough; all members call this.
    unsafe {
        let op = Operator::of::<T, Sum>();
        scan(group, dest.bytes(), source.bytes(), n, op, inclusive);
    };
    let add = |a: Vec<T>, b: Vec<T>| a.into_iter().zip(b).map(|(a, b)| a.plus(b)).collect();
    let sum = (0..me + usize::from(inclusive)).map(numbers).reduce(add);
    let result = bytes(sum.unwrap_or_else(|| vec![T::ZERO; n]));
    arrays.check(call, me, &mine, &result);
}

pub(super) fn check(arrays: &Arrays, group: &Group<'_>, call: &TestCall) {
    match call.salt % 7 {
        0 => check_type::<u8>(arrays, group, call),
        1 => check_type::<i16>(arrays, group, call),
        2 => check_type::<i64>(arrays, group, call),
        3 => check_type::<f32>(arrays, group, call),
        4 => check_type::<Bf16>(arrays, group, call),
        _ => check_type::<f64>(arrays, group, call),
    }
}

/// In the members' order by every algorithm: the same bits.
#[test]
fn sums_go_up_to_each_member() {
    everywhere(Collective::Scan);
}

/// Members run ahead of slow ones while the rings have room, in scans of both lengths and in broadcasts between
/// them: no entry is overwritten before all members have taken it.
#[test]
fn small_scans_do_not_wait_and_do_not_mix() {
    let decisions = DecisionTable::fixed(Collective::Scan, Choice::direct(Algorithm::Eager))
        .with(Collective::Broadcast, Choice::direct(Algorithm::Eager));
    let sum = Operator::of::<i64, Sum>();
    for size in [2, 3, 5, 16] {
        let (dests, sources) = (Array::<i64>::new(size, 55), Array::<i64>::new(size, 55));
        run_oversubscribed(size, |member| {
            let me = member.me;
            for call in 0..4000_usize {
                let n = if call % 500 < 400 { 1 } else { [7, 8, 55][call % 3] };
                let slow = (call / 1000) % size;
                if me == slow && call.is_multiple_of(97) {
                    std::thread::sleep(std::time::Duration::from_micros(300));
                }
                let value = |m: usize| (call * 31 + m * m) as i64;
                sources.of(me)[..n].fill(value(me));
                let group = member.group(&decisions);
                let (dest, source) = (dests.addresses(me), sources.addresses(me));
                let inclusive = call % 2 == 0;
                // SAFETY: the arrays are long enough; all members call this.
                unsafe { scan(&group, dest.bytes(), source.bytes(), n, sum, inclusive) };
                let expected: i64 = (0..me + usize::from(inclusive)).map(value).sum();
                assert!(dests.of(me)[..n].iter().all(|x| *x == expected), "call {call}");
                if call % 7 == 3 {
                    let root = call % size;
                    let (dest, source) = (dests.addresses(me).bytes(), sources.addresses(me).bytes());
                    // SAFETY: as above.
                    unsafe {
                        broadcast(&member.group(&decisions), dest, source, n * 8, root, true);
                    };
                    assert!(dests.of(me)[..n].iter().all(|x| *x == value(root)), "call {call}");
                }
            }
        });
    }
}

/// The first member of a scan waits for none of the others, for as many calls as the ring has room for.
#[test]
fn the_first_member_runs_ahead() {
    let decisions = DecisionTable::fixed(Collective::Scan, Choice::direct(Algorithm::Eager));
    let (calls, sum) = (SHORT_RING_ENTRIES, Operator::of::<i64, Sum>());
    let (dests, sources) = (Array::<i64>::new(3, 1), Array::<i64>::new(3, 1));
    let done = std::sync::atomic::AtomicBool::new(false);
    run_oversubscribed(3, |member| {
        let me = member.me;
        // The others begin once the first has finished.
        while me > 0 && !done.load(std::sync::atomic::Ordering::Acquire) {
            std::thread::yield_now();
        }
        for call in 0..calls {
            sources.of(me)[0] = (call + me) as i64;
            let group = member.group(&decisions);
            let (dest, source) = (dests.addresses(me), sources.addresses(me));
            // SAFETY: the arrays are long enough; all members call this.
            unsafe { scan(&group, dest.bytes(), source.bytes(), 1, sum, true) };
            let expected: usize = (0..=me).map(|m| call + m).sum();
            assert_eq!(dests.of(me)[0], expected as i64);
        }
        if me == 0 {
            done.store(true, std::sync::atomic::Ordering::Release);
        }
    });
}

//! `SHMEM_REPRODUCIBLE=1`: sums of floating-point numbers are the exact sum, rounded once, by
//! every algorithm and every distribution of the summands.

use ferroshmem_core::group::threads::{Array, Member, each};
use ferroshmem_core::wait::POLICY;
use ferroshmem_simd::ops::Sum;
use ferroshmem_simd::{Operator, Reduce};
use ferroshmem_tuning::{Choice, Collective, DecisionTable};

use super::Random;
use crate::reduce::reduce;

/// Numbers to add up; members beyond so many have zeros.
const SUMMANDS: usize = 6;
const N: usize = 300;

trait Float: Reduce<Sum> + Default + Send + Sync + PartialEq + std::fmt::Debug {
    /// A number that swallows all integers that are added to it.
    const HUGE: Self;
    fn of(integer: i128) -> Self;
    fn minus(self) -> Self;
    fn bits(self) -> u64;
}

impl Float for f64 {
    const HUGE: Self = 1e300;
    fn of(integer: i128) -> Self {
        integer as Self
    }
    fn minus(self) -> Self {
        -self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl Float for f32 {
    const HUGE: Self = 1e30;
    fn of(integer: i128) -> Self {
        integer as Self
    }
    fn minus(self) -> Self {
        -self
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

/// Element `i` of each summand: integers of `bits` bits, and two that cancel each other.
/// The second value is the sum, rounded once by the conversion.
fn column<T: Float>(i: usize, bits: u32) -> ([T; SUMMANDS], T) {
    let mut random = Random::new(i as u64);
    let mut sum = 0i128;
    let mut all = [T::of(0); SUMMANDS];
    for x in &mut all[..SUMMANDS - 2] {
        let shift = random.below(30) as u32;
        let integer = i128::from(random.next() as i64 >> (64 - bits)) << shift;
        sum += integer;
        *x = T::of(integer);
    }
    all[SUMMANDS - 2] = T::HUGE;
    all[SUMMANDS - 1] = T::HUGE.minus();
    // Somewhere else in each column.
    all.rotate_left(random.below(SUMMANDS));
    (all, T::of(sum))
}

fn sums<T: Float>(bits: u32) {
    let columns: Vec<_> = (0..N).map(|i| column::<T>(i, bits)).collect();
    for size in [SUMMANDS, SUMMANDS + 1, 8, 13] {
        let (source, dest) = (Array::<T>::new(size, N), Array::<T>::new(size, N));
        POLICY.set(16, 2, None);
        each(Member::all(size, 0), |mut member| {
            member.reproducible = true;
            let me = member.me;
            for (i, x) in source.of(me).iter_mut().enumerate() {
                // The summands are with other members in each size of group.
                *x = columns[i].0.get((me + size / 2) % size).copied().unwrap_or_default();
            }
            for &choice in Collective::Reduce.choices() {
                for &barrier in Collective::Barrier.choices() {
                    let decisions = decisions(choice, barrier);
                    for n in [1, 7, 100, N] {
                        // SAFETY: the arrays are long enough; all members call this.
                        unsafe {
                            let (dest, source) = (dest.addresses(me), source.addresses(me));
                            reduce(
                                &member.group(&decisions),
                                dest.bytes(),
                                source.bytes(),
                                n,
                                Operator::of::<T, Sum>(),
                            );
                        }
                        for (i, (x, (_, sum))) in dest.of(me).iter().zip(&columns).take(n).enumerate() {
                            assert_eq!(x.bits(), sum.bits(), "{choice} {barrier} {i} of {n}: {x:?}");
                        }
                    }
                }
            }
        });
    }
}

fn decisions(reduce: Choice, barrier: Choice) -> DecisionTable {
    DecisionTable::fixed(Collective::Reduce, reduce).with(Collective::Barrier, barrier)
}

#[test]
fn doubles_are_rounded_once() {
    sums::<f64>(53);
}

#[test]
fn floats_are_rounded_once() {
    sums::<f32>(24);
}

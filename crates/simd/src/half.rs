//! Numbers of 16 bits: operands are combined as `float`, in their order, and a result is rounded once.

use std::mem::MaybeUninit;

use super::fold::{Dests, Sources, spread};
use super::ops::{Max, Min, Prod, Sum};
use super::reduce::{CombineFn, Operator, Reduce};
use super::vector::stream_fence;

/// Elements that are combined at a time: few enough for the first-level cache.
const BLOCK: usize = 1024;

/// binary16 of IEEE 754, as its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct F16(pub u16);

/// bfloat16, as its bits: the upper half of a `float`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Bf16(pub u16);

/// What can be said of both. A NaN stays one.
pub(super) trait Half: Copy {
    /// The same number.
    fn widen(self) -> f32;

    /// The nearest number; of two, the one whose last bit is zero.
    fn round(value: f32) -> Self;
}

/// Rounds the bits of a positive number to the nearest multiple of 2 to the `places`, which they count then.
#[inline(always)]
const fn round_bits(bits: u32, places: u32) -> u32 {
    bits.wrapping_add((1 << (places - 1)) - 1 + (bits >> places & 1)) >> places
}

impl Half for F16 {
    // The least exponent of a normal number is -14, that of `float` -126; mantissas have 10 and 23 bits.

    #[inline(always)]
    fn widen(self) -> f32 {
        let (sign, magnitude) = (u32::from(self.0 & 0x8000) << 16, u32::from(self.0 & 0x7fff));
        let normal = (magnitude << 13) + (112 << 23);
        let special = magnitude << 13 | 0xff << 23;
        let subnormal = (magnitude as f32 / (1 << 24) as f32).to_bits();
        f32::from_bits(match magnitude {
            ..0x400 => sign | subnormal,
            0x7c00.. => sign | special,
            _ => sign | normal,
        })
    }

    #[inline(always)]
    fn round(value: f32) -> Self {
        let (sign, magnitude) = ((value.to_bits() >> 16) as u16 & 0x8000, value.to_bits() & 0x7fff_ffff);
        // A sum with 1/2 has the places of the least numbers, and is rounded to them.
        let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits() & 0x7ff;
        // Of a number that is too small, anything.
        let normal = round_bits(magnitude.wrapping_sub(112 << 23), 13);
        Self(
            sign | match magnitude {
                ..0x3880_0000 => subnormal as u16,
                0x7f80_0001.. => 0x7e00,
                0x4780_0000.. => 0x7c00,
                _ => normal as u16,
            },
        )
    }
}

impl Half for Bf16 {
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    #[inline(always)]
    fn round(value: f32) -> Self {
        let (bits, is_nan) = (value.to_bits(), value.is_nan());
        Self(
            if is_nan { (bits >> 16) as u16 | 0x40 } else { round_bits(bits & 0x7fff_ffff, 16) as u16 }
                | (bits >> 16) as u16 & 0x8000,
        )
    }
}

/// What is compiled for each type, so that a fold is compiled once.
struct Loops {
    /// Widens as many numbers as there is room for.
    widen: unsafe fn(*const u8, &mut [MaybeUninit<f32>]),
    /// Rounds them.
    round: unsafe fn(&[MaybeUninit<f32>], *mut u8),
}

impl Loops {
    const fn of<T: Half>() -> Self {
        Self { widen: widen::<T>, round: round::<T> }
    }
}

/// # Safety
/// There are as many numbers of the type as there is room for.
unsafe fn widen<T: Half>(from: *const u8, to: &mut [MaybeUninit<f32>]) {
    for (i, wide) in to.iter_mut().enumerate() {
        // SAFETY: the caller promises so many numbers.
        wide.write(unsafe { from.cast::<T>().add(i).read() }.widen());
    }
}

/// # Safety
/// The numbers are set, and there is room for as many of the type.
unsafe fn round<T: Half>(from: &[MaybeUninit<f32>], to: *mut u8) {
    for (i, wide) in from.iter().enumerate() {
        // SAFETY: the caller promises set numbers, and room for them.
        unsafe { to.cast::<T>().add(i).write(T::round(wide.assume_init())) };
    }
}

/// [`Reduce::fold`], by an operator on `float`.
///
/// # Safety
/// As there; the arrays have numbers of the loops' type.
#[inline(never)] // once for all types and operators
unsafe fn fold(
    loops: &Loops,
    combine: CombineFn,
    dests: Dests<'_, u8>,
    (source, count): Sources<'_, u8>,
    n: usize,
    streaming: bool,
) {
    let mut result = [const { MaybeUninit::uninit() }; BLOCK];
    let mut operand = [const { MaybeUninit::uninit() }; BLOCK];
    let mut rounded = [const { MaybeUninit::<u16>::uninit() }; BLOCK];
    let rounded = rounded.as_mut_ptr().cast::<u8>();
    for start in (0..n).step_by(BLOCK) {
        let (at, len) = (start * size_of::<u16>(), BLOCK.min(n - start));
        let (result, operand) = (&mut result[..len], &mut operand[..len]);
        // SAFETY: the caller promises that the sources are readable for `n` numbers, and the destinations writable. All
        // blocks have room for `len`; as many are set where one is read.
        unsafe {
            (loops.widen)(source(0).add(at), result);
            for k in 1..count {
                (loops.widen)(source(k).add(at), operand);
                let so_far = result.as_mut_ptr().cast();
                combine(so_far, so_far, operand.as_ptr().cast(), len);
            }
            (loops.round)(result, rounded);
            spread(rounded, dests, at, len * size_of::<u16>(), streaming);
        }
    }
    if streaming {
        stream_fence();
    }
}

macro_rules! halves {
    ($($t:ty: [$($op:ty),*]);*) => {$($(
        // SAFETY: any 16 bits are a number.
        unsafe impl Reduce<$op> for $t {
            const ANY_ORDER: bool = false;

            #[inline]
            unsafe fn combine(dest: *mut Self, a: *const Self, b: *const Self, n: usize) {
                let operands = [a.cast(), b.cast()];
                // SAFETY: the caller promises arrays of `n` numbers.
                unsafe { <Self as Reduce<$op>>::fold_bytes((&|_| dest.cast(), 1), (&|k| operands[k], 2), n, false) }
            }

            unsafe fn fold_bytes(dests: Dests<'_, u8>, sources: Sources<'_, u8>, n: usize, streaming: bool) {
                // SAFETY: the caller promises what `Reduce::fold` asks for.
                unsafe {
                    let combine = Operator::of::<f32, $op>().combine;
                    fold(const { &Loops::of::<$t>() }, combine, dests, sources, n, streaming);
                }
            }

            fn operator() -> &'static Operator {
                static OPERATOR: Operator = Operator::new::<$t, $op>().in_order();
                &OPERATOR
            }
        }
    )*)*};
}

halves! { F16: [Sum, Prod, Min, Max]; Bf16: [Sum, Prod, Min, Max] }

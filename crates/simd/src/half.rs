//! Numbers of 16 bits: operands are combined as `float`, in their order, and a result is rounded once.

use std::mem::MaybeUninit;

use super::fold::{Dests, Sources, spread};
use super::level::{self, ElementLoop};
use super::ops::{Max, Min, Prod, Sum};
use super::reduce::{Operator, Reduce};
use super::vector::{Vector, stream_fence};

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
    (bits + (1 << (places - 1)) - 1 + (bits >> places & 1)) >> places
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

/// Numbers as `float`.
struct Widen<'a, T>(*const T, &'a mut [MaybeUninit<f32>]);

impl<T: Half> ElementLoop for Widen<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (i, wide) in self.1.iter_mut().enumerate() {
            // SAFETY: there are as many numbers as the result has room for; who makes this says so.
            wide.write(unsafe { self.0.add(i).read() }.widen());
        }
    }
}

/// And back.
struct Round<'a, T>(&'a [MaybeUninit<f32>], &'a mut [MaybeUninit<T>]);

impl<T: Half> ElementLoop for Round<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (wide, half) in self.0.iter().zip(self.1) {
            // SAFETY: the numbers are set; who makes this says so.
            half.write(T::round(unsafe { wide.assume_init() }));
        }
    }
}

/// [`Reduce::fold`].
///
/// # Safety
/// As there.
unsafe fn fold<T: Half, Op>(dests: Dests<'_, u8>, (source, count): Sources<'_, u8>, n: usize, streaming: bool)
where
    f32: Reduce<Op>,
{
    let mut result = [const { MaybeUninit::<f32>::uninit() }; BLOCK];
    let mut operand = [const { MaybeUninit::<f32>::uninit() }; BLOCK];
    let mut rounded = [const { MaybeUninit::<T>::uninit() }; BLOCK];
    for start in (0..n).step_by(BLOCK) {
        let len = BLOCK.min(n - start);
        // The caller promises that each source is readable for `n` numbers.
        let source = |k| source(k).cast::<T>().wrapping_add(start);
        level::dispatch(Widen(source(0), &mut result[..len]));
        for k in 1..count {
            level::dispatch(Widen(source(k), &mut operand[..len]));
            let (to, from) = (result.as_mut_ptr().cast(), operand.as_ptr().cast());
            // SAFETY: both arrays have `len` numbers, which are set.
            unsafe { <f32 as Reduce<Op>>::combine(to, to, from, len) };
        }
        // `len` results are set.
        level::dispatch(Round(&result[..len], &mut rounded[..len]));
        let (at, bytes) = (start * size_of::<T>(), len * size_of::<T>());
        // SAFETY: as many are rounded, and the caller promises destinations of `n` numbers.
        unsafe { spread(rounded.as_ptr().cast(), dests, at, bytes, streaming) };
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
                unsafe { fold::<$t, $op>((&|_| dest.cast(), 1), (&|k| operands[k], 2), n, false) }
            }

            unsafe fn fold_bytes(dests: Dests<'_, u8>, sources: Sources<'_, u8>, n: usize, streaming: bool) {
                // SAFETY: the caller promises what `Reduce::fold` asks for.
                unsafe { fold::<$t, $op>(dests, sources, n, streaming) }
            }

            fn operator() -> &'static Operator {
                static OPERATOR: Operator = Operator::new::<$t, $op>().in_order();
                &OPERATOR
            }
        }
    )*)*};
}

halves! { F16: [Sum, Prod, Min, Max]; Bf16: [Sum, Prod, Min, Max] }

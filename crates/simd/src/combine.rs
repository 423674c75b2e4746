//! What an operator computes: of two elements, and of two registers of elements.

use super::ops::{And, Complex, Max, MaxOrNan, Min, MinOrNan, Or, Prod, Sum, Xor};
use super::vector::{Vector, each_lane};

/// A type whose elements operator `Op` combines.
pub(super) trait Combine<Op>: Copy + 'static {
    /// `a op b`.
    fn combine(a: Self, b: Self) -> Self;

    /// Each element of `a` combined with that of `b`.
    ///
    /// # Safety
    /// The machine has the register.
    #[inline(always)]
    unsafe fn combine_lanes<V: Vector>(a: V, b: V) -> V {
        each_lane(a, b, Self::combine)
    }
}

type Complex32 = Complex<f32>;
type Complex64 = Complex<f64>;

/// Defines an operator on elements of some types; on registers, by the function after `as`.
macro_rules! combine {
    ($op:ty, [$($t:ty $(as $of_registers:ident)?),*], |$a:ident, $b:ident| $value:expr) => {$(
        impl Combine<$op> for $t {
            #[inline(always)]
            fn combine($a: Self, $b: Self) -> Self {
                $value
            }

            $(
                #[inline(always)]
                unsafe fn combine_lanes<V: Vector>(a: V, b: V) -> V {
                    // SAFETY: the caller promises that the machine has register `V`.
                    unsafe { V::$of_registers(a, b) }
                }
            )?
        }
    )*};
}

combine!(And, [u8, u16, u32, u64], |a, b| a & b);
combine!(Or, [u8, u16, u32, u64], |a, b| a | b);
combine!(Xor, [u8, u16, u32, u64], |a, b| a ^ b);
combine!(Sum, [u8, u16, u32, u64], |a, b| a.wrapping_add(b));
combine!(Prod, [u8, u16, u32, u64], |a, b| a.wrapping_mul(b));
combine!(Max, [i8, i16, i32, i64, u8, u16, u32, u64], |a, b| a.max(b));
combine!(Min, [i8, i16, i32, i64, u8, u16, u32, u64], |a, b| a.min(b));

combine! { Sum, [f32 as add_f32, f64 as add_f64], |a, b| a + b }
combine! { Prod, [f32 as mul_f32, f64 as mul_f64], |a, b| a * b }
// As C programs write it; which operand survives a NaN is left open by the standard.
combine! { Max, [f32 as max_f32, f64 as max_f64], |a, b| if b > a { b } else { a } }
combine! { Min, [f32 as min_f32, f64 as min_f64], |a, b| if b < a { b } else { a } }

combine! { Sum, [Complex32 as add_f32, Complex64 as add_f64], |a, b| a.plus(b) }
combine! { Prod, [Complex32 as mul_complex_f32, Complex64 as mul_complex_f64], |a, b| a.times(b) }

// Numbers that compare equal have the same bits, unless they are zeros, which have no bits but
// the sign. All three cases are computed for all numbers, so that vectors can be.
combine!(MaxOrNan, [f32, f64], |a, b| {
    let greater = if b > a { b } else { a };
    let equal = Self::from_bits(a.to_bits() & b.to_bits());
    let ordered = if a == b { equal } else { greater };
    if a.is_nan() | b.is_nan() { Self::NAN } else { ordered }
});
combine!(MinOrNan, [f32, f64], |a, b| {
    let less = if b < a { b } else { a };
    let equal = Self::from_bits(a.to_bits() | b.to_bits());
    let ordered = if a == b { equal } else { less };
    if a.is_nan() | b.is_nan() { Self::NAN } else { ordered }
});

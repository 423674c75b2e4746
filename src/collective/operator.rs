//! The operators of reductions, as types.

use ferroshmem_api::{Reduce, ops};

use crate::plain::Plain;
use crate::step::{Detail, What};

/// An operator of reductions: [`Sum`], [`Prod`], [`Min`], [`Max`], [`And`], [`Or`] or [`Xor`].
///
/// ```
/// # use ferroshmem::{Operator, Reducible, World};
/// fn over_members<Op: Operator>(world: &World, operator: Op) -> u64
/// where
///     u64: Reducible<Op>,
/// {
///     world.reduce_value(1 << world.my_pe().number(), operator)
/// }
/// ```
pub trait Operator: Copy + sealed::Sealed {
    /// The runtime's type for it.
    #[doc(hidden)]
    type Core;
    /// A number that identifies it on all PEs.
    #[doc(hidden)]
    const NUMBER: u64;
}

/// Elements that an operator reduces: integers by all, floating-point numbers by [`Sum`], [`Prod`],
/// [`Min`] and [`Max`], with the feature `half` also its `f16` and `bf16`, and with the feature `num-complex` its
/// `Complex<f32>` and `Complex<f64>` by [`Sum`] and [`Prod`].
/// [`Team::reduce_value_by`](crate::Team::reduce_value_by) and its like reduce any elements by any function.
///
/// `f16` and `bf16` are combined as `f32`, in the members' order, and the result is rounded once:
///
/// ```
/// # #[cfg(feature = "half")] {
/// # use ferroshmem::{Sum, World};
/// # let world = World::init().unwrap();
/// let one = half::bf16::from_f32(1.0);
/// assert_eq!(world.reduce_value(one, Sum).to_f32(), world.n_pes() as f32);
/// # }
/// ```
///
/// ```compile_fail,E0277
/// # use ferroshmem::{Xor, World};
/// # let world = World::init().unwrap();
/// world.reduce_value(1.5, Xor);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Op}` does not reduce elements of type `{Self}`",
    note = "integers are reduced by all operators, `f32` and `f64` by `Sum`, `Prod`, `Min` and `Max`; \
            `Team::reduce_value_by` takes any function"
)]
pub trait Reducible<Op: Operator>: Plain + sealed::Reducible<Op> {}

impl<T: Plain + sealed::Reducible<Op>, Op: Operator> Reducible<Op> for T {}

/// A reduction as details of a step. Types of one size differ, too: each has algorithms of its
/// own.
pub(super) fn reduction<T: Reducible<Op>, Op: Operator>() -> [Detail; 2] {
    // Reducible types are primitive types and complex numbers, whose names have the same ends in all programs.
    let name = std::any::type_name::<T>().bytes();
    let ty = name.fold(0, |sum, byte| sum << 8 | u64::from(byte));
    [(What::Type, ty), (What::Operator, Op::NUMBER)]
}

/// A scan as details of a step.
pub(super) fn scan_details<T: Reducible<Sum>>(inclusive: bool) -> [Detail; 2] {
    let [ty, _] = reduction::<T, Sum>();
    [ty, (What::Operator, u64::from(inclusive))]
}

mod sealed {
    #[cfg(feature = "num-complex")]
    use ferroshmem_api::Complex;
    #[cfg(feature = "half")]
    use ferroshmem_api::{Bf16, F16};

    use super::{Operator, Reduce};

    pub trait Sealed {}

    /// The runtime's reductions, which are not part of the interface.
    pub trait Reducible<Op: Operator> {
        /// The runtime's type of the same bytes.
        type Core: Reduce<Op::Core>;
    }

    macro_rules! reducible {
        ($($(#[$attribute:meta])* $t:ty as $core:ty),* $(,)?) => {$(
            $(#[$attribute])*
            impl<Op: Operator> Reducible<Op> for $t
            where
                $core: Reduce<Op::Core>,
            {
                type Core = $core;
            }
        )*};
    }

    reducible!(
        i8 as i8,
        i16 as i16,
        i32 as i32,
        i64 as i64,
        isize as isize,
        u8 as u8,
        u16 as u16,
        u32 as u32,
        u64 as u64,
        usize as usize,
        f32 as f32,
        f64 as f64,
        #[cfg(feature = "half")]
        half::f16 as F16,
        #[cfg(feature = "half")]
        half::bf16 as Bf16,
        #[cfg(feature = "num-complex")]
        num_complex::Complex<f32> as Complex<f32>,
        #[cfg(feature = "num-complex")]
        num_complex::Complex<f64> as Complex<f64>,
    );
}

macro_rules! operators {
    ($($name:ident($number:literal): $doc:literal),*) => {$(
        #[doc = $doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name;

        impl sealed::Sealed for $name {}
        impl Operator for $name {
            type Core = ops::$name;
            const NUMBER: u64 = $number;
        }
    )*};
}

operators!(
    Sum(0): "The sum; integers wrap.",
    Prod(1): "The product; integers wrap.",
    Min(2): "The least.",
    Max(3): "The greatest.",
    And(4): "Bitwise and.",
    Or(5): "Bitwise or.",
    Xor(6): "Bitwise exclusive or."
);

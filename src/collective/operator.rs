//! The operators of reductions, as types.

use ferroshmem_core::api::{Reduce, ops};

use crate::plain::Plain;
use crate::step::{Detail, What};

/// An operator of reductions.
pub trait Operator: Copy + sealed::Sealed {
    /// The runtime's type for it.
    #[doc(hidden)]
    type Core;
    /// A number that identifies it on all PEs.
    #[doc(hidden)]
    const NUMBER: u64;
}

/// Elements that an operator reduces: integers by all, floating-point numbers by [`Sum`], [`Prod`],
/// [`Min`] and [`Max`].
///
/// ```compile_fail,E0277
/// # use ferroshmem::{Xor, World};
/// # let world = World::init().unwrap();
/// world.reduce_value(1.5, Xor);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Op}` does not reduce elements of type `{Self}`",
    note = "integers are reduced by all operators, `f32` and `f64` by `Sum`, `Prod`, `Min` and `Max`"
)]
pub trait Reducible<Op: Operator>: Plain + sealed::Reducible<Op> {}

impl<T: Plain + sealed::Reducible<Op>, Op: Operator> Reducible<Op> for T {}

/// A reduction as details of a step. Types of one size differ, too: each has algorithms of its
/// own.
pub(super) fn reduction<T: Reducible<Op>, Op: Operator>() -> [Detail; 2] {
    // Reducible types are primitive types, whose names are the same in all programs.
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
    use super::{Operator, Reduce};

    pub trait Sealed {}

    /// The runtime's reductions, which are not part of the interface.
    pub trait Reducible<Op: Operator>: Reduce<Op::Core> {}

    impl<T: Reduce<Op::Core>, Op: Operator> Reducible<Op> for T {}
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

//! The arrays that PEs of other jobs may be given.

use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

use super::{Atomics, RawSymmetric, Shared, Window};
use crate::amo::Amo;
use crate::memory::Signals;
use crate::plain::Plain;

/// An array that a job can lend to other jobs ([`World::export`](crate::World::export)): [`Window`], [`Atomics`],
/// [`Signals`], [`Shared`] and [`RawSymmetric`], which say what each PE may do with all parts.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to other jobs",
    label = "other PEs must not use it, or only with a lock of this job",
    note = "`share`, `open` and `into_atomics` of a `Symmetric` make arrays that can be lent"
)]
pub trait Lend: sealed::Lend {}

pub(crate) mod sealed {
    use std::ptr::NonNull;
    use std::sync::atomic::AtomicU32;

    use crate::plain::Plain;

    pub trait Lend {
        type Element: Plain;
        /// What PEs may do with it; 0: anything, as with memory that C lends.
        const KIND: u64;
        /// Whether PEs use it by loads and stores of their own.
        const IS_IN_PLACE: bool = Self::KIND == 0 || Self::KIND == 3;

        /// The first element of mine, and their number.
        fn mine(&self) -> (NonNull<Self::Element>, usize);
        /// How many arrays of its space other jobs may use, if it is in one.
        fn lent(&self) -> Option<&AtomicU32>;
    }
}

macro_rules! lend {
    ($($kind:literal: $array:ident<T: $bound:ident>),*) => {$(
        impl<T: $bound> Lend for $array<'_, T> {}
        impl<T: $bound> sealed::Lend for $array<'_, T> {
            type Element = T;
            const KIND: u64 = $kind;

            fn mine(&self) -> (NonNull<T>, usize) {
                (self.block().mine(), self.len())
            }

            fn lent(&self) -> Option<&AtomicU32> {
                self.block().lent()
            }
        }
    )*};
}

lend!(
    0: RawSymmetric<T: Plain>,
    1: Window<T: Plain>,
    2: Atomics<T: Amo>,
    3: Shared<T: Plain>
);

impl Lend for Signals<'_> {}
impl sealed::Lend for Signals<'_> {
    type Element = u64;
    const KIND: u64 = 4;

    fn mine(&self) -> (NonNull<u64>, usize) {
        sealed::Lend::mine(self.words())
    }

    fn lent(&self) -> Option<&AtomicU32> {
        sealed::Lend::lent(self.words())
    }
}

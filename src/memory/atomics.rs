//! An array whose elements all PEs update atomically.
#![allow(unsafe_code)]

use std::fmt;

use super::{Block, Symmetric};
use crate::amo::{Amo, AmoInt};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::step::{self, Step};

/// A symmetric array whose elements every PE reads and updates atomically, on all PEs: made by
/// [`World::atomics`](crate::World::atomics) or [`Symmetric::into_atomics`]. (Standard, "Atomic Memory Operations")
///
/// Operations that read and write are sequentially consistent with each other, whoever issues them,
/// and with those of [`mine`](Self::mine). [`set`](Self::set) is a release and
/// [`fetch`](Self::fetch) an acquire: who fetches what was set sees what the setter did before. A
/// set that must be seen by all before the setter fetches something else needs
/// [`quiet`](crate::Team::quiet) between the two. Methods take `&self` and may be called by several
/// threads.
///
/// ```
/// # use ferroshmem::World;
/// # fn main() -> Result<(), ferroshmem::Error> {
/// # let world = World::init()?;
/// let counter = world.atomics::<u64>(1)?;
/// let ticket = counter.fetch_add(world.pe(0)?, 0, 1)?;
/// assert!(ticket < world.n_pes() as u64);
/// # Ok(())
/// # }
/// ```
pub struct Atomics<'w, T: Amo> {
    block: Block<'w, T>,
}

// SAFETY: threads that share it use atomic operations only. What is collective takes it by value,
// and it cannot be sent.
unsafe impl<T: Amo> Sync for Atomics<'_, T> {}

impl<'w, T: Amo> Atomics<'w, T> {
    /// Elements of `block` are used by atomic operations only.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// Elements of each part.
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the updates: each PE has its own part to itself. Collective over the world, and a
    /// barrier.
    pub fn into_inner(self) -> Symmetric<'w, T> {
        step::of_world(Step::IntoInner, &[self.block.id()]);
        Symmetric::over(self.block)
    }

    #[inline]
    pub(crate) fn at(&self, pe: Pe, index: usize) -> Result<*mut T, OutOfBounds> {
        Ok(self.block.elements(pe, index, 1)?.as_ptr())
    }

    /// The address of an element of mine.
    #[inline]
    pub(crate) fn own(&self, index: usize) -> Result<*mut T, OutOfBounds> {
        if index >= self.len() {
            return Err(self.block.out_of_bounds(index, 1));
        }
        // SAFETY: within the part.
        Ok(unsafe { self.block.mine().add(index) }.as_ptr())
    }

    /// Reads an element of a PE's part.
    ///
    /// # Errors
    /// For this and the methods below: if the part does not have that element.
    #[inline]
    pub fn fetch(&self, pe: Pe, index: usize) -> Result<T, OutOfBounds> {
        // SAFETY: mapped and aligned; used by atomics only.
        Ok(unsafe { T::fetch(self.at(pe, index)?) })
    }

    /// Writes an element of a PE's part.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    pub fn set(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
        // SAFETY: as in `fetch`.
        unsafe { T::set(self.at(pe, index)?, value) };
        Ok(())
    }

    /// Writes an element of a PE's part; returns what was there.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    pub fn swap(&self, pe: Pe, index: usize, value: T) -> Result<T, OutOfBounds> {
        // SAFETY: as in `fetch`.
        Ok(unsafe { T::swap(self.at(pe, index)?, value) })
    }
}

impl<T: AmoInt> Atomics<'_, T> {
    /// My own part, as the standard library's atomics.
    #[inline]
    pub fn mine(&self) -> &[T::Std] {
        let start = self.block.mine().as_ptr().cast();
        // SAFETY: std's atomics have their integers' layout; used by atomics only.
        unsafe { std::slice::from_raw_parts(start, self.len()) }
    }

    /// Writes `value` to an element of a PE's part if `current` is there; returns what was there.
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    pub fn compare_swap(
        &self,
        pe: Pe,
        index: usize,
        current: T,
        value: T,
    ) -> Result<T, OutOfBounds> {
        // SAFETY: as in `fetch`.
        Ok(unsafe { T::compare_swap(self.at(pe, index)?, current, value) })
    }
}

macro_rules! operations {
    ($($fetching:ident, $plain:ident: $does:literal),*) => {
        impl<T: AmoInt> Atomics<'_, T> {$(
            #[doc = concat!($does, " an element of a PE's part; returns what was there.")]
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            pub fn $fetching(&self, pe: Pe, index: usize, value: T) -> Result<T, OutOfBounds> {
                // SAFETY: as in `fetch`.
                Ok(unsafe { T::$fetching(self.at(pe, index)?, value) })
            }

            #[doc = concat!($does, " an element of a PE's part.")]
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            pub fn $plain(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
                self.$fetching(pe, index, value).map(drop)
            }
        )*}
    };
}

operations!(
    fetch_add, add: "Adds to (wrapping)",
    fetch_and, and: "Ands into",
    fetch_or, or: "Ors into",
    fetch_xor, xor: "Exclusive-ors into"
);

impl<T: Amo> fmt::Debug for Atomics<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Atomics")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

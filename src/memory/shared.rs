//! An array that all PEs read.
#![allow(unsafe_code)]

use std::fmt;
use std::slice;

use super::{Block, Symmetric};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step};

/// A symmetric array that every PE reads, all parts of it, in place and without copying, and
/// nobody writes: made by [`Symmetric::share`].
///
/// ```
/// # use ferroshmem::World;
/// # fn main() -> Result<(), ferroshmem::Error> {
/// # let world = World::init()?;
/// let mut squares = world.alloc::<u64>(1)?;
/// squares[0] = (world.my_pe().number() as u64).pow(2);
/// let squares = squares.share();
/// let sum: u64 = world.pes().map(|pe| squares.on(pe)[0]).sum();
/// # let n = world.n_pes() as u64;
/// # assert_eq!(sum, (n - 1) * n * (2 * n - 1) / 6);
/// # Ok(())
/// # }
/// ```
pub struct Shared<'w, T: Plain> {
    block: Block<'w, T>,
}

// SAFETY: threads that share it read memory that nobody writes. What is collective takes it by
// value, and it cannot be sent.
unsafe impl<T: Plain + Sync> Sync for Shared<'_, T> {}

impl<'w, T: Plain> Shared<'w, T> {
    /// Nobody writes any part of `block`.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// The part of a PE, mine included.
    #[inline]
    pub fn on(&self, pe: Pe) -> &[T] {
        // SAFETY: initialised by the allocation; nobody writes it while the array has this type.
        unsafe { slice::from_raw_parts(self.block.on(pe).as_ptr(), self.block.len()) }
    }

    /// Elements of each part.
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn block(&self) -> &Block<'w, T> {
        &self.block
    }

    /// Ends the reading: each PE has its own part to itself again. Collective over the world, and
    /// a barrier.
    pub fn reclaim(self) -> Symmetric<'w, T> {
        step::of_world(Step::Reclaim, &[self.block.id()]);
        Symmetric::over(self.block)
    }
}

impl<T: Plain> fmt::Debug for Shared<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

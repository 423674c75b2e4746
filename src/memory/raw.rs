//! An array without guarantees.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use super::block::array;
use super::{Block, Symmetric};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A symmetric array that is used through pointers (standard, `shmem_ptr`): made by
/// [`Symmetric::into_raw`]. Pointers are valid for [`len`](Self::len) elements, which are initialised,
/// until the array is dropped or taken back; the program must prevent data races. Parts of PEs on other
/// nodes have no pointers ([`remote`](Self::remote)): `shmem_put` and the other routines of C reach them.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let array = world.alloc::<u64>(8)?.into_raw();
/// // SAFETY: no other PE touches my part before the barrier.
/// unsafe { array.local().write(7) };
/// world.barrier();
/// if let Some(next) = array.remote(world.my_pe().next()) {
///     // SAFETY: no PE writes after the barrier.
///     assert_eq!(unsafe { next.read() }, 7);
/// }
/// // SAFETY: the pointers are gone.
/// let array = unsafe { array.into_inner() };
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct RawSymmetric<'w, T: Plain> {
    block: Block<'w, T>,
}

// SAFETY: it only hands out pointers. Collective methods take it by value, and it cannot be sent.
unsafe impl<T: Plain> Sync for RawSymmetric<'_, T> {}

impl<'w, T: Plain> RawSymmetric<'w, T> {
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// My own part.
    ///
    /// As in the example of [`into_inner`](Self::into_inner).
    #[inline]
    pub fn local(&self) -> NonNull<T> {
        self.block.mine()
    }

    /// A PE's part, where this PE can load and store it; none if the PE is on another node.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (array, next) = (world.alloc::<u32>(1)?.into_raw(), world.my_pe().next());
    /// if let Some(element) = array.remote(next) {
    ///     // SAFETY: the element exists, and no other PE touches it.
    ///     unsafe { element.write(7) }
    /// }
    /// assert_eq!(array.remote(world.my_pe()), Some(array.local()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn remote(&self, pe: Pe) -> Option<NonNull<T>> {
        self.block.viewed(pe)
    }

    /// Takes the array back: each PE has its own part to itself. Collective over the world, and a
    /// barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let array = world.alloc::<u32>(4)?.into_raw();
    /// // SAFETY: element 3 exists, and no other PE touches it.
    /// unsafe { array.local().add(3).write(7) };
    /// // SAFETY: no pointer is used any more.
    /// let array = unsafe { array.into_inner() };
    /// assert_eq!(array[3], 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Safety
    /// On no PE is anything left that was made from the pointers and is used later.
    #[track_caller]
    pub unsafe fn into_inner(self) -> Symmetric<'w, T> {
        step::of_world(Step::Close, &[(What::Array, self.block.id()), (What::Sharing, 1)]);
        Symmetric::over(self.block)
    }
}

array!(RawSymmetric, Plain);

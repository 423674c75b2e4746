//! An array of which each PE has exclusive use of its own part.
#![allow(unsafe_code)]

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::slice;

use super::{Atomics, Block, RawSymmetric, Shared, Space, Window};
use crate::amo::Amo;
use crate::error::AllocError;
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A symmetric array of which each PE reads and writes its own part, as a slice, and touches
/// no other PE's: what [`World::alloc`](crate::World::alloc) gives, and what collectives work on.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let mut array = world.alloc::<u64>(8)?; // zeros
/// array[1..].fill(7); // my part is a slice
/// let parts = array.share(); // a barrier: now all may read all parts
/// assert!(world.pes().all(|pe| parts.on(pe)[7] == 7));
/// let array = parts.reclaim(); // a barrier: my part is mine again
/// assert_eq!(array[..2], [0, 7]);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// [`share`](Self::share), [`open`](Self::open) and [`into_atomics`](Self::into_atomics) give
/// other PEs access. They take the array, so that no slice of it is left:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let array = world.alloc::<u64>(8).unwrap();
/// let first = &array[0];
/// let window = array.open(); // others may now write what `first` points to
/// println!("{first}");
/// ```
///
/// An array cannot outlive its world:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let array = world.alloc::<u64>(8).unwrap();
/// drop(world);
/// println!("{}", array[0]);
/// ```
///
/// nor be dropped after it, as it would be if declared before it:
///
/// ```compile_fail,E0597
/// # use ferroshmem::World;
/// let mut kept = None;
/// let world = World::init().unwrap();
/// kept = Some(world.alloc::<u64>(8).unwrap());
/// ```
///
/// and stays on the thread that makes the world's collective calls:
///
/// ```compile_fail,E0277
/// # let world = ferroshmem::World::init().unwrap();
/// let array = world.alloc::<u64>(8).unwrap();
/// std::thread::scope(|scope| { scope.spawn(move || drop(array)); });
/// ```
pub struct Symmetric<'w, T: Plain> {
    block: Block<'w, T>,
}

impl<'w, T: Plain> Symmetric<'w, T> {
    #[track_caller]
    pub(crate) fn new(len: usize, space: Option<&'w Space<'w>>) -> Result<Self, AllocError> {
        Block::new(len, space).map(Self::over)
    }

    /// Each PE is the only user of its part of `block`.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// Lets every PE read all parts, and no PE write, until [`Shared::reclaim`]. Collective over
    /// the world, and a barrier: all PEs see what each wrote before.
    ///
    /// As in the example of [`Shared::on`].
    #[track_caller]
    pub fn share(self) -> Shared<'w, T> {
        step::of_world(Step::Share, &[(What::Array, self.block.id())]);
        Shared::over(self.block)
    }

    /// Lets every PE put to and get from all parts, until [`Window::close`]. Collective over the
    /// world, and a barrier: all PEs see what each wrote before.
    ///
    /// As in the example of [`Window::close`].
    #[track_caller]
    pub fn open(self) -> Window<'w, T> {
        step::of_world(Step::Open, &[(What::Array, self.block.id())]);
        Window::over(self.block)
    }

    /// Lets every PE update elements of all parts atomically, until [`Atomics::into_inner`].
    /// Collective over the world, and a barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut numbers = world.alloc::<u64>(1)?;
    /// numbers[0] = 10;
    /// let numbers = numbers.into_atomics(); // all PEs have written
    /// numbers.add(world.my_pe().next(), 0, 5)?;
    /// assert_eq!(numbers.into_inner()[0], 15);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn into_atomics(self) -> Atomics<'w, T>
    where
        T: Amo,
    {
        step::of_world(Step::Atomics, &[(What::Array, self.block.id())]);
        Atomics::over(self.block)
    }

    /// Gives up what the types guarantee. Collective over the world, and a barrier.
    ///
    /// As in the example of [`RawSymmetric::into_inner`].
    #[track_caller]
    pub fn into_raw(self) -> RawSymmetric<'w, T> {
        step::of_world(Step::Open, &[(What::Array, self.block.id()), (What::Sharing, 1)]);
        RawSymmetric::over(self.block)
    }

    /// Keeps the array until the world is dropped, and gives this PE's part for as long.
    /// Collective over the world.
    ///
    /// ```
    /// # let world = ferroshmem::World::init().unwrap();
    /// let table: &mut [u32] = world.alloc(4).unwrap().keep();
    /// table[0] = 1;
    /// ```
    #[track_caller]
    pub fn keep(self) -> &'w mut [T] {
        step::of_world(Step::Keep, &[(What::Array, self.block.id())]);
        let (start, len) = (self.block.mine(), self.block.len());
        self.block.forget();
        // SAFETY: this PE's part, which no other PE uses while the array has this type, and which is not
        // freed before the world is dropped.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), len) }
    }

    pub(crate) fn block(&self) -> &Block<'w, T> {
        &self.block
    }
}

impl<T: Plain> Deref for Symmetric<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: initialised by the allocation; no other PE uses this part while the array has this type.
        unsafe { slice::from_raw_parts(self.block.mine().as_ptr(), self.block.len()) }
    }
}

impl<T: Plain> DerefMut for Symmetric<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the array is borrowed mutably for as long as the slice lives.
        unsafe { slice::from_raw_parts_mut(self.block.mine().as_ptr(), self.block.len()) }
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Symmetric<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Symmetric").field(&&**self).finish()
    }
}

//! Parts of arrays, as arguments of collectives.
//!
//! They borrow as slices do, but are pointers: a reference passed as an argument asserts that nothing else
//! accesses the elements during the call, while in a collective other PEs do.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, RangeBounds};
use std::ptr::NonNull;
use std::slice;

use super::Symmetric;
use crate::error::OutOfBounds;
use crate::plain::Plain;

/// Some elements of a [`Symmetric`] array that a collective reads: the array itself, or
/// [`Symmetric::part`].
#[derive(Debug, Clone, Copy)]
pub struct Part<'a, T: Plain> {
    start: NonNull<T>,
    len: usize,
    elements: PhantomData<&'a [T]>,
}

/// Some elements of a [`Symmetric`] array that a collective writes: the array itself, or
/// [`Symmetric::part_mut`]. Between collective calls it is a slice of this PE's.
#[derive(Debug)]
pub struct PartMut<'a, T: Plain> {
    start: NonNull<T>,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<T: Plain> Symmetric<'_, T> {
    /// Some of the elements, the same on every PE.
    ///
    /// ```
    /// # use ferroshmem::Sum;
    /// # let world = ferroshmem::World::init()?;
    /// let (source, mut dest) = (world.alloc::<f64>(100)?, world.alloc::<f64>(10)?);
    /// world.reduce(&mut dest, source.part(90..)?, Sum)?; // of the last 10 elements
    /// world.broadcast(world.pe(0)?, dest.part_mut(..1)?, source.part(5..6)?)?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the array does not have them.
    pub fn part(&self, range: impl RangeBounds<usize>) -> Result<Part<'_, T>, OutOfBounds> {
        let (start, end) = self.within(range)?;
        Ok(Part::of(&self[start..end]))
    }

    /// As [`part`](Self::part), to be written.
    ///
    /// As in the example of [`part`](Self::part).
    ///
    /// # Errors
    /// As for [`part`](Self::part).
    pub fn part_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PartMut<'_, T>, OutOfBounds> {
        let (start, end) = self.within(range)?;
        Ok(PartMut::of(&mut self[start..end]))
    }

    fn within(&self, range: impl RangeBounds<usize>) -> Result<(usize, usize), OutOfBounds> {
        let range = self.block().range(range)?;
        Ok((range.start, range.end))
    }
}

impl<'a, T: Plain> From<&'a Symmetric<'_, T>> for Part<'a, T> {
    fn from(array: &'a Symmetric<'_, T>) -> Self {
        Self::of(array)
    }
}

impl<'a, T: Plain> From<&'a mut Symmetric<'_, T>> for PartMut<'a, T> {
    fn from(array: &'a mut Symmetric<'_, T>) -> Self {
        Self::of(array)
    }
}

impl<'a, T: Plain> Part<'a, T> {
    fn of(elements: &'a [T]) -> Self {
        Self { start: NonNull::from(elements).cast(), len: elements.len(), elements: PhantomData }
    }

    /// Number of elements.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let array = world.alloc::<u8>(10)?;
    /// assert_eq!((array.part(7..)?.len(), array.part(7..)?.is_empty()), (3, false));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    ///
    /// As in the example of [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements of this PE.
    pub(crate) fn elements(&self) -> &'a [T] {
        // SAFETY: borrowed from a slice of this PE's part, which no other PE writes.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Address of the first element on this PE.
    pub(crate) fn start(&self) -> *const T {
        self.start.as_ptr()
    }
}

impl<'a, T: Plain> PartMut<'a, T> {
    fn of(elements: &'a mut [T]) -> Self {
        Self { len: elements.len(), start: NonNull::from(elements).cast(), elements: PhantomData }
    }

    /// Address of the first element on this PE.
    pub(crate) fn start(&mut self) -> *mut T {
        self.start.as_ptr()
    }
}

impl<T: Plain> Deref for PartMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as below.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for PartMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: borrowed mutably from a slice of this PE's part, which other PEs use only in collective calls; one
        // that waits, or a request, has this value meanwhile.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

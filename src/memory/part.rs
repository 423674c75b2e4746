//! Parts of arrays, as arguments of collectives.

use std::ops::{Bound, RangeBounds};

use super::Symmetric;
use crate::error::OutOfBounds;
use crate::plain::Plain;

/// Some elements of a [`Symmetric`] array that a collective reads: the array itself, or
/// [`Symmetric::part`].
#[derive(Debug, Clone, Copy)]
pub struct Part<'a, T: Plain> {
    elements: &'a [T],
}

/// Some elements of a [`Symmetric`] array that a collective writes: the array itself, or
/// [`Symmetric::part_mut`].
#[derive(Debug)]
pub struct PartMut<'a, T: Plain> {
    elements: &'a mut [T],
}

impl<T: Plain> Symmetric<'_, T> {
    /// Some of the elements, the same on every PE.
    ///
    /// # Errors
    /// If the array does not have them.
    pub fn part(&self, range: impl RangeBounds<usize>) -> Result<Part<'_, T>, OutOfBounds> {
        let (start, end) = self.within(range)?;
        Ok(Part {
            elements: &self[start..end],
        })
    }

    /// As [`part`](Self::part), to be written.
    ///
    /// # Errors
    /// As for [`part`](Self::part).
    pub fn part_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<PartMut<'_, T>, OutOfBounds> {
        let (start, end) = self.within(range)?;
        Ok(PartMut {
            elements: &mut self[start..end],
        })
    }

    fn within(&self, range: impl RangeBounds<usize>) -> Result<(usize, usize), OutOfBounds> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(start) => start.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(end) => end.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len(),
        };
        if start > end || end > self.len() {
            return Err(self.block().out_of_bounds(start, end.saturating_sub(start)));
        }
        Ok((start, end))
    }
}

impl<'a, T: Plain> From<&'a Symmetric<'_, T>> for Part<'a, T> {
    fn from(array: &'a Symmetric<'_, T>) -> Self {
        Self { elements: array }
    }
}

impl<'a, T: Plain> From<&'a mut Symmetric<'_, T>> for PartMut<'a, T> {
    fn from(array: &'a mut Symmetric<'_, T>) -> Self {
        Self { elements: array }
    }
}

impl<T: Plain> Part<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Where they are, on this PE.
    pub(crate) fn start(&self) -> *const T {
        self.elements.as_ptr()
    }
}

impl<T: Plain> PartMut<'_, T> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.elements.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// Where they are, on this PE.
    pub(crate) fn start(&mut self) -> *mut T {
        self.elements.as_mut_ptr()
    }
}

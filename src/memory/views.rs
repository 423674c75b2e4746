//! Parts as arrays of several dimensions, of the crate `ndarray` (feature `ndarray`).

use ndarray::{ArrayView, ArrayViewMut, Dimension, Shape, ShapeBuilder};

use super::{Shared, Symmetric};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::plain::Plain;

/// Number of elements that a shape takes, if the array has that many.
fn fill<D: Dimension>(shape: &Shape<D>, array: usize) -> Result<usize, OutOfBounds> {
    let size = shape.raw_dim().size_checked();
    size.filter(|size| *size <= array).ok_or(too_large(size.unwrap_or(usize::MAX), array))
}

fn too_large(len: usize, array: usize) -> OutOfBounds {
    OutOfBounds { start: 0, len, array }
}

impl<T: Plain> Symmetric<'_, T> {
    /// The first elements of my part as an array of that shape: `(rows, columns)`, or with `.f()`
    /// column by column. (Feature `ndarray`)
    ///
    /// As in the example of [`view_mut`](Self::view_mut).
    ///
    /// # Errors
    /// If the part has fewer elements.
    pub fn view<D: Dimension>(&self, shape: impl ShapeBuilder<Dim = D>) -> Result<ArrayView<'_, T, D>, OutOfBounds> {
        view(self, shape)
    }

    /// As [`view`](Self::view), to be written.
    ///
    /// ```
    /// use ndarray::s;
    ///
    /// # let world = ferroshmem::World::init()?;
    /// let mut matrix = world.alloc::<f64>(3 * 4)?;
    /// matrix.view_mut((3, 4))?.slice_mut(s![.., 1]).fill(1.0);
    /// assert_eq!(matrix.view((3, 4))?.sum(), 3.0);
    /// assert_eq!(matrix[5], 1.0); // row 1, column 1
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`view`](Self::view).
    pub fn view_mut<D: Dimension>(
        &mut self,
        shape: impl ShapeBuilder<Dim = D>,
    ) -> Result<ArrayViewMut<'_, T, D>, OutOfBounds> {
        let (shape, len) = (shape.into_shape_with_order(), self.len());
        let size = fill(&shape, len)?;
        ArrayViewMut::from_shape(shape, &mut self[..size]).map_err(|_| too_large(usize::MAX, len))
    }
}

impl<T: Plain> Shared<'_, T> {
    /// The first elements of a PE's part, in place, as an array of that shape. (Feature `ndarray`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut block = world.alloc::<f64>(2 * 2)?;
    /// block.view_mut((2, 2))?.diag_mut().fill(1.0);
    /// let blocks = block.share();
    /// for pe in world.pes() {
    ///     let product = blocks.view(world.my_pe(), (2, 2))?.dot(&blocks.view(pe, (2, 2))?);
    ///     assert_eq!(product, ndarray::Array2::eye(2));
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part has fewer elements.
    #[track_caller]
    pub fn view<D: Dimension>(
        &self,
        pe: Pe,
        shape: impl ShapeBuilder<Dim = D>,
    ) -> Result<ArrayView<'_, T, D>, OutOfBounds> {
        view(self.on(pe), shape)
    }
}

fn view<T, D: Dimension>(
    elements: &[T],
    shape: impl ShapeBuilder<Dim = D>,
) -> Result<ArrayView<'_, T, D>, OutOfBounds> {
    let (shape, len) = (shape.into_shape_with_order(), elements.len());
    let size = fill(&shape, len)?;
    // A shape without elements may still have lengths that are too large.
    ArrayView::from_shape(shape, &elements[..size]).map_err(|_| too_large(usize::MAX, len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes() {
        let elements = Vec::from_iter(0..12);
        let row_by_row = view(&elements, (3, 4)).unwrap();
        assert_eq!(row_by_row[(1, 2)], 6);
        let column_by_column = view(&elements, (3, 4).f()).unwrap();
        assert_eq!(column_by_column[(1, 2)], 7);
        assert_eq!(view(&elements, 5).unwrap().sum(), 10);
        assert_eq!(view(&elements, (2, 2, 2)).unwrap()[(1, 1, 1)], 7);
        assert!(view(&elements, (0, 7)).unwrap().is_empty());
    }

    #[test]
    fn shapes_that_do_not_fit() {
        let elements = [0; 12];
        assert_eq!(view(&elements, (3, 5)).unwrap_err(), too_large(15, 12));
        for shape in [(usize::MAX, 2), (usize::MAX, 0), (0, usize::MAX)] {
            let error = view(&elements, shape).unwrap_err();
            assert_eq!(error, too_large(usize::MAX, 12), "{shape:?}");
        }
    }
}

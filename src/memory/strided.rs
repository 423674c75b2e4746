//! Puts and gets of elements that lie apart (standard, `shmem_iput`, `shmem_ibput` and their gets).
#![allow(unsafe_code)]

use super::far::{Blocks, Place};
use super::{Window, copy};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::plain::Plain;

/// Elements from the first of the first to the last of the last of `n` blocks of `block` elements,
/// each `stride` after the one before; none if there are more than can be counted.
fn extent(n: usize, block: usize, stride: usize) -> Option<usize> {
    match n {
        0 => Some(0),
        _ => (n - 1).checked_mul(stride)?.checked_add(block),
    }
}

impl<T: Plain> Window<'_, T> {
    /// Copies every `source_stride`-th element of `source`, from its first on, to every `stride`-th
    /// element from `start` on of a PE's part. (Standard: `shmem_iput`)
    ///
    /// ```
    /// # use ferroshmem::World;
    /// # fn main() -> Result<(), ferroshmem::Error> {
    /// # let world = World::init()?;
    /// let matrix = world.alloc::<f64>(8 * 8)?.open();
    /// let row = [1.0; 8];
    /// matrix.put_strided(world.my_pe(), 3, 8, &row, 1)?; // column 3 of my part
    /// # assert_eq!(matrix.g(world.my_pe(), 59)?, 1.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements, or a stride is 0.
    pub fn put_strided(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        source: &[T],
        source_stride: usize,
    ) -> Result<(), OutOfBounds> {
        self.put_blocks(pe, start, stride, source, source_stride, 1)
    }

    /// Copies every `stride`-th element from `start` on of a PE's part to every `dest_stride`-th
    /// element of `dest`, until that is full. (Standard: `shmem_iget`)
    ///
    /// # Errors
    /// As for [`put_strided`](Self::put_strided).
    pub fn get_strided(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        dest: &mut [T],
        dest_stride: usize,
    ) -> Result<(), OutOfBounds> {
        self.get_blocks(pe, start, stride, dest, dest_stride, 1)
    }

    /// As [`put_strided`](Self::put_strided), with blocks of `block` elements whose starts are the
    /// strides apart. Whole blocks only: what is left of `source` is not copied. (Standard:
    /// `shmem_ibput`)
    ///
    /// # Errors
    /// If the part does not have those elements, or a stride is less than a block, or 0.
    pub fn put_blocks(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        source: &[T],
        source_stride: usize,
        block: usize,
    ) -> Result<(), OutOfBounds> {
        let n = self.blocks(start, stride, source.len(), source_stride, block)?;
        let source = source.as_ptr();
        match self.first_of(n, pe, start)? {
            Place::Here(there) => {
                for i in 0..n {
                    // SAFETY: block i of both, within the part and the slice (`blocks` has checked).
                    unsafe {
                        let (there, source) =
                            (there.add(i * stride), source.add(i * source_stride));
                        copy::store(there.as_ptr(), source, block);
                    }
                }
            }
            Place::There(far) => {
                let blocks = Blocks {
                    stride,
                    own_stride: source_stride,
                    block,
                    n,
                };
                // SAFETY: as above.
                unsafe { far.put_blocks("Window::put_blocks", source, blocks) };
            }
        }
        Ok(())
    }

    /// As [`put_blocks`](Self::put_blocks), the other way. (Standard: `shmem_ibget`)
    ///
    /// # Errors
    /// As for [`put_blocks`](Self::put_blocks).
    pub fn get_blocks(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        dest: &mut [T],
        dest_stride: usize,
        block: usize,
    ) -> Result<(), OutOfBounds> {
        let n = self.blocks(start, stride, dest.len(), dest_stride, block)?;
        let dest = dest.as_mut_ptr();
        match self.first_of(n, pe, start)? {
            Place::Here(there) => {
                for i in 0..n {
                    // SAFETY: as in `put_blocks`.
                    unsafe {
                        let (dest, there) = (dest.add(i * dest_stride), there.add(i * stride));
                        copy::load(dest, there.as_ptr(), block);
                    }
                }
            }
            Place::There(far) => {
                let blocks = Blocks {
                    stride,
                    own_stride: dest_stride,
                    block,
                    n,
                };
                // SAFETY: as above.
                unsafe { far.get_blocks("Window::get_blocks", dest, blocks) };
            }
        }
        Ok(())
    }

    /// Where the first of `n` blocks is; without blocks, any place will do.
    fn first_of(&self, n: usize, pe: Pe, start: usize) -> Result<Place<T>, OutOfBounds> {
        let start = if n > 0 { start } else { 0 };
        self.block().elements(pe, start, 0)
    }

    /// The number of whole blocks in a buffer of `len` elements, which fit in a part.
    fn blocks(
        &self,
        start: usize,
        stride: usize,
        len: usize,
        own_stride: usize,
        block: usize,
    ) -> Result<usize, OutOfBounds> {
        if block == 0 || len < block {
            return Ok(0);
        }
        let bad = || self.block().out_of_bounds(start, len);
        if stride < block || own_stride < block {
            return Err(bad());
        }
        let n = (len - block) / own_stride + 1;
        let extent = extent(n, block, stride).ok_or_else(bad)?;
        if start > self.len() || extent > self.len() - start {
            return Err(self.block().out_of_bounds(start, extent));
        }
        Ok(n)
    }
}

//! Puts and gets of elements that lie apart (standard, `shmem_iput`, `shmem_ibput` and their gets).
#![allow(unsafe_code)]

use std::panic::Location as Caller;

use super::remote::{Location, Route, StridedBlocks};
use super::{Window, copy};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::plain::Plain;

/// Blocks in a part from `start` on, whose starts are `stride` elements apart there and `local_stride` in a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    pub(crate) start: usize,
    pub(crate) stride: usize,
    pub(crate) local_stride: usize,
    pub(crate) block: usize,
}

impl<T: Plain> Window<'_, T> {
    /// Copies every `source_stride`-th element of `source`, from its first on, to every `stride`-th
    /// element from `start` on of a PE's part. (Standard: `shmem_iput`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let matrix = world.alloc::<f64>(8 * 8)?.open();
    /// let row = [1.0; 8];
    /// matrix.put_strided(world.my_pe(), 3, 8, &row, 1)?; // column 3 of my part
    /// # assert_eq!(matrix.g(world.my_pe(), 59)?, 1.0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements, or a stride is 0.
    #[track_caller]
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
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut table = world.alloc::<u32>(9)?; // 3 rows of 3
    /// table.copy_from_slice(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    /// let (table, mut column) = (table.open(), [0; 3]);
    /// table.get_strided(world.my_pe().next(), 1, 3, &mut column, 1)?;
    /// assert_eq!(column, [1, 4, 7]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`put_strided`](Self::put_strided).
    #[track_caller]
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
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (me, matrix) = (world.my_pe(), world.alloc::<f64>(8 * 8)?.open());
    /// matrix.put_blocks(me, 2, 8, &[1.0; 2 * 8], 2, 2)?; // columns 2 and 3 of my part
    /// let mut columns = [0.0; 2 * 8];
    /// matrix.get_blocks(me, 2, 8, &mut columns, 2, 2)?;
    /// assert_eq!(columns, [1.0; 2 * 8]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements, or a stride is less than a block, or 0.
    #[track_caller]
    pub fn put_blocks(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        source: &[T],
        source_stride: usize,
        block: usize,
    ) -> Result<(), OutOfBounds> {
        let places = Places { start, stride, local_stride: source_stride, block };
        self.put_places("Window::put_blocks", Route::to(pe), places, source)
    }

    /// As [`put_blocks`](Self::put_blocks), by a route.
    #[track_caller]
    pub(crate) fn put_places(
        &self,
        name: &'static str,
        route: Route,
        places: Places,
        source: &[T],
    ) -> Result<(), OutOfBounds> {
        let blocks = self.blocks(places, source.len())?;
        let source = source.as_ptr();
        if blocks.n == 0 {
            return Ok(());
        }
        match self.block().elements(route.pe, places.start, 0)? {
            Location::Local(part) => {
                for i in 0..blocks.n {
                    // SAFETY: block i of the part and of the slice, both of which have it, as `blocks`
                    // has checked; no PE has references to elements of a window.
                    unsafe {
                        let (dest, source) = (part.add(i * blocks.stride), source.add(i * blocks.local_stride));
                        copy::store(dest.as_ptr(), source, blocks.block);
                    }
                }
            }
            Location::Remote(elements) => {
                // SAFETY: as for local parts.
                unsafe {
                    elements.on(route).put_blocks((name, Caller::caller()), source, blocks);
                };
            }
        }
        Ok(())
    }

    /// Copies blocks of a PE's part to `dest`, as [`put_blocks`](Self::put_blocks) does from `source`.
    /// (Standard: `shmem_ibget`)
    ///
    /// As in the example of [`put_blocks`](Self::put_blocks).
    ///
    /// # Errors
    /// As for [`put_blocks`](Self::put_blocks).
    #[track_caller]
    pub fn get_blocks(
        &self,
        pe: Pe,
        start: usize,
        stride: usize,
        dest: &mut [T],
        dest_stride: usize,
        block: usize,
    ) -> Result<(), OutOfBounds> {
        let places = Places { start, stride, local_stride: dest_stride, block };
        self.get_places("Window::get_blocks", Route::to(pe), places, dest)
    }

    /// As [`get_blocks`](Self::get_blocks), by a route.
    #[track_caller]
    pub(crate) fn get_places(
        &self,
        name: &'static str,
        route: Route,
        places: Places,
        dest: &mut [T],
    ) -> Result<(), OutOfBounds> {
        let blocks = self.blocks(places, dest.len())?;
        let dest = dest.as_mut_ptr();
        if blocks.n == 0 {
            return Ok(());
        }
        match self.block().elements(route.pe, places.start, 0)? {
            Location::Local(part) => {
                for i in 0..blocks.n {
                    // SAFETY: as in `put_blocks`.
                    unsafe {
                        let (dest, source) = (dest.add(i * blocks.local_stride), part.add(i * blocks.stride));
                        copy::load(dest, source.as_ptr(), blocks.block);
                    }
                }
            }
            Location::Remote(elements) => {
                // SAFETY: as for local parts.
                unsafe {
                    elements.on(route).get_blocks((name, Caller::caller()), dest, blocks);
                };
            }
        }
        Ok(())
    }

    /// The whole blocks in a buffer of `len` elements; an error if a part has no room for them.
    fn blocks(&self, places: Places, len: usize) -> Result<StridedBlocks, OutOfBounds> {
        let Places { start, stride, local_stride, block } = places;
        if block == 0 || len < block {
            return Ok(StridedBlocks { n: 0, stride, local_stride, block });
        }
        let bad = || self.block().out_of_bounds(start, len);
        if stride < block || local_stride < block {
            return Err(bad());
        }
        let n = (len - block) / local_stride + 1;
        // From the first element of the first to the last of the last.
        let extent = (n - 1).checked_mul(stride).and_then(|last| last.checked_add(block)).ok_or_else(bad)?;
        if start > self.len() || extent > self.len() - start {
            return Err(self.block().out_of_bounds(start, extent));
        }
        // The strides of one block do not matter, and may be more than addresses differ by.
        let (stride, local_stride) = if n == 1 { (block, block) } else { (stride, local_stride) };
        Ok(StridedBlocks { n, stride, local_stride, block })
    }
}

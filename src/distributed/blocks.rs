//! Which PE has which elements of an array.

use std::ops::Range;

use crate::error::OutOfBounds;
use crate::pe::Pe;

/// Which PE has which elements of a [`Distributed`](crate::Distributed) array: each has one block of consecutive
/// elements, PE 0 the first. All blocks are equally long but the last ones, which may be shorter or empty.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let array = world.distributed::<u64>(1000)?;
/// let (pe, place) = array.blocks().place(999)?;
/// assert_eq!(array.blocks().range_of(pe).start + place, 999);
/// assert_eq!(array.my_range().len(), array.len()); // of my slice
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    len: usize,
    /// Elements of a full block: at least 1.
    pub(super) block: usize,
}

impl Blocks {
    pub(super) fn of(len: usize, n_pes: usize) -> Self {
        Self { len, block: len.div_ceil(n_pes).max(1) }
    }

    /// Elements of all PEs together.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let blocks = world.distributed::<u8>(100)?.blocks();
    /// assert_eq!((blocks.len(), blocks.is_empty()), (100, false));
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

    /// The PE that has an element, and its index in the PE's block.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let blocks = world.distributed::<u8>(100)?.blocks();
    /// let (pe, place) = blocks.place(42)?;
    /// assert_eq!(blocks.range_of(pe).start + place, 42);
    /// assert!(blocks.place(100).is_err());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such element.
    #[inline]
    pub fn place(&self, index: usize) -> Result<(Pe, usize), OutOfBounds> {
        if index >= self.len {
            return Err(self.out_of_bounds(index, 1));
        }
        Ok((Pe::new(index / self.block), index % self.block))
    }

    /// The elements that a PE has, by their global indices.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let blocks = world.distributed::<u8>(100)?.blocks();
    /// assert!(world.pes().flat_map(|pe| blocks.range_of(pe)).eq(0..100)); // in order, none twice
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn range_of(&self, pe: Pe) -> Range<usize> {
        let start = pe.number().saturating_mul(self.block).min(self.len);
        start..start.saturating_add(self.block).min(self.len)
    }

    /// The elements of a range, block by block: the PE, the first element in its block, and the elements by their
    /// places in the range.
    pub(super) fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = (Pe, usize, Range<usize>)> + use<> {
        let (first, block, mut at) = (range.start, self.block, range.start);
        std::iter::from_fn(move || {
            let (start, pe) = (at, at / block);
            at = range.end.min((pe + 1) * block);
            (start < at).then(|| (Pe::new(pe), start % block, start - first..at - first))
        })
    }

    pub(super) fn out_of_bounds(&self, start: usize, len: usize) -> OutOfBounds {
        let array = self.len;
        OutOfBounds { start, len, array }
    }

    /// The elements from `start` on.
    pub(super) fn from(&self, start: usize, len: usize) -> Result<Range<usize>, OutOfBounds> {
        if start > self.len || len > self.len - start {
            return Err(self.out_of_bounds(start, len));
        }
        Ok(start..start + len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_array() {
        for n_pes in [1, 2, 3, 5, 8] {
            for len in [0, 1, 2, 5, 7, 8, 9, 16, 100] {
                let blocks = Blocks::of(len, n_pes);
                let ranges = (0..n_pes).map(|pe| blocks.range_of(Pe::new(pe)));
                assert!(ranges.flatten().eq(0..len), "{len} on {n_pes}");
                for i in 0..len {
                    let (pe, place) = blocks.place(i).unwrap();
                    assert_eq!(blocks.range_of(pe).start + place, i);
                    for end in i..=len {
                        let pieces = blocks.pieces(i..end);
                        let all = pieces.flat_map(|(pe, start, piece)| {
                            let start = blocks.range_of(pe).start + start;
                            start..start + piece.len()
                        });
                        assert!(all.eq(i..end), "{i}..{end} of {len} on {n_pes}");
                    }
                }
                assert!(blocks.place(len).is_err());
            }
        }
        assert!(Blocks::of(10, 3).from(usize::MAX, 2).is_err());
        assert!(Blocks::of(usize::MAX, 2).place(usize::MAX - 1).is_ok());
    }
}

//! Prefetching cache lines. Hardware foresees accesses in order, but neither irregular ones nor, with
//! small pages, those past the end of a page.
//!
//! These are hints: they read and write nothing, and any address is valid.

use ferroshmem_platform::{prefetch_for_read, prefetch_for_write};

use super::{Shared, Symmetric, Window};
use crate::pe::Pe;
use crate::plain::Plain;

impl<T: Plain> Symmetric<'_, T> {
    /// Prefetches the cache line of an element of this PE's part, which is soon read. A hint, harmless
    /// where there is no such element.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let keys = world.alloc::<u32>(4096)?;
    /// let mut counts = [0; 16];
    /// for (i, line) in keys.chunks(16).enumerate() {
    ///     keys.prefetch(16 * i + 512); // 2 KiB ahead
    ///     for key in line {
    ///         counts[*key as usize % 16] += 1;
    ///     }
    /// }
    /// # assert_eq!(counts[0], 4096);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn prefetch(&self, index: usize) {
        prefetch_for_read(self.block().mine().as_ptr().wrapping_add(index).cast());
    }
}

impl<T: Plain> Shared<'_, T> {
    /// Prefetches the cache line of an element of a PE's part, which is soon read. A hint, harmless where
    /// there is no such element, and without effect where the PE is on another node.
    ///
    /// As in the example of [`Symmetric::prefetch`].
    #[inline]
    pub fn prefetch(&self, pe: Pe, index: usize) {
        if let Some(part) = self.block().local(pe) {
            prefetch_for_read(part.as_ptr().wrapping_add(index).cast());
        }
    }
}

impl<T: Plain> Window<'_, T> {
    /// Prefetches the cache line of an element of a PE's part, which is soon put to. A hint, harmless
    /// where there is no such element, and without effect where the PE is on another node.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// # let (pe, places) = (world.my_pe().next(), [5, 3, 900, 77]);
    /// let window = world.alloc::<u32>(1000)?.open();
    /// for (i, place) in places.iter().enumerate() {
    ///     if let Some(later) = places.get(i + 2) {
    ///         window.prefetch(pe, *later);
    ///     }
    ///     window.p(pe, *place, 1)?;
    /// }
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    pub fn prefetch(&self, pe: Pe, index: usize) {
        if let Some(part) = self.block().local(pe) {
            prefetch_for_write(part.as_ptr().wrapping_add(index).cast());
        }
    }
}

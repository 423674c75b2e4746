//! An array that all PEs read.
#![allow(unsafe_code)]

use std::panic::Location as Caller;
use std::slice;
use std::sync::OnceLock;

use super::block::array;
use super::remote::Location;
use super::{Block, Symmetric};
use crate::init;
use crate::pe::{Pe, Pes};
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A symmetric array that every PE reads, all parts of it, in place and without copying, and no PE
/// writes: made by [`Symmetric::share`].
///
/// The part of a PE on another node (for which [`World::is_here`](crate::World::is_here) is false) is
/// copied to memory of this process at its first use, as a whole and by one get, and kept until the array
/// is reclaimed or dropped. Where a few elements of many parts are needed, a
/// [`Window`](super::Window) gets those alone.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let mut squares = world.alloc::<u64>(1)?;
/// squares[0] = (world.my_pe().number() as u64).pow(2);
/// let squares = squares.share();
/// let sum: u64 = world.pes().map(|pe| squares.on(pe)[0]).sum();
/// # let n = world.n_pes() as u64;
/// # assert_eq!(sum, (n - 1) * n * (2 * n - 1) / 6);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Shared<'w, T: Plain> {
    block: Block<'w, T>,
    /// Copies of the parts of PEs on other nodes; empty where all PEs are on this one.
    copies: Box<[OnceLock<Box<[T]>>]>,
}

// SAFETY: threads that share it read memory that no PE writes. Collective methods take it by value,
// and it cannot be sent.
unsafe impl<T: Plain + Sync> Sync for Shared<'_, T> {}

impl<'w, T: Plain> Shared<'w, T> {
    /// No PE writes any part of `block`.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        let n = if init::spans_nodes() { init::n_pes() } else { 0 };
        Self { block: block.for_views(), copies: (0..n).map(|_| OnceLock::new()).collect() }
    }

    /// The part of a PE, mine included: in place, or a copy if the PE is on another node.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut mine = world.alloc::<usize>(2)?;
    /// mine.fill(world.my_pe().number());
    /// let (all, next) = (mine.share(), world.my_pe().next());
    /// assert_eq!(all.on(next), [next.number(); 2]); // a slice of its part
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn on(&self, pe: Pe) -> &[T] {
        match self.block.local(pe) {
            // SAFETY: initialised by the allocation; no PE writes it while the array has this type.
            Some(part) => unsafe { slice::from_raw_parts(part.as_ptr(), self.block.len()) },
            None => self.copy_of(pe),
        }
    }

    /// Every PE with its part, in the order of their numbers.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let tables = world.alloc::<u32>(8)?.share();
    /// let longest = tables.parts().map(|(_, part)| part.iter().sum::<u32>()).max();
    /// # assert_eq!(longest, Some(0));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (Pe, &[T])> {
        Pes::all(init::n_pes()).map(|pe| (pe, self.on(pe)))
    }

    /// The elements of all parts, those of PE 0 first.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut mine = world.alloc::<usize>(2)?;
    /// mine.fill(world.my_pe().number());
    /// let all = mine.share();
    /// assert!(all.iter().copied().eq((0..world.n_pes()).flat_map(|n| [n, n])));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.parts().flat_map(|(_, part)| part)
    }

    #[cold]
    #[track_caller]
    fn copy_of(&self, pe: Pe) -> &[T] {
        let caller = Caller::caller();
        self.copies[pe.number()].get_or_init(|| {
            let mut copy = vec![T::zeroed(); self.len()].into_boxed_slice();
            if let Ok(Location::Remote(elements)) = self.block.elements(pe, 0, copy.len()) {
                // SAFETY: all elements of the part, which no PE writes.
                unsafe { elements.get(("Shared::on", caller), &mut copy) };
            }
            copy
        })
    }

    /// Ends the reading: each PE has its own part to itself again. Collective over the world, and
    /// a barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let table = world.alloc::<u32>(2)?.share();
    /// let mut table = table.reclaim(); // all PEs have read
    /// table[0] = 7;
    /// assert_eq!(table[..], [7, 0]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn reclaim(self) -> Symmetric<'w, T> {
        step::of_world(Step::Reclaim, &[(What::Array, self.block.id())]);
        Symmetric::over(self.block.for_all())
    }
}

array!(Shared, Plain);

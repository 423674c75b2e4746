//! Arrays with global indices, of which each PE has a block.

mod blocks;

use std::fmt;
use std::ops::{Deref, DerefMut, Index, Range, RangeBounds};

use crate::World;
use crate::amo::{Amo, AmoInt};
use crate::error::{AllocError, OutOfBounds};
use crate::init;
use crate::memory::{Atomics, Shared, Symmetric, Window, within};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step, What};

pub use self::blocks::Blocks;

/// An array of which each PE has a block, and whose elements have global indices: made by
/// [`World::distributed`]. `A` says which PEs may do what, as for arrays that have a part of one length on each PE:
///
/// | Type | Made by | Access |
/// |---|---|---|
/// | `Distributed<Symmetric<T>>` | `world.distributed(n)` | each PE has its block as a slice |
/// | `Distributed<Shared<T>>` | `share()` | all read all elements in place, by index |
/// | `Distributed<Window<T>>` | `open()` | all put and get elements and ranges |
/// | `Distributed<Atomics<T>>` | `into_atomics()` | all update elements atomically |
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let mut squares = world.distributed::<u64>(1000)?;
/// for (i, square) in squares.iter_mut_with_index() {
///     *square = (i * i) as u64; // mine
/// }
/// let squares = squares.share();
/// assert_eq!(squares[30], 900); // whichever PE has it
/// assert_eq!(squares.iter().sum::<u64>(), 332_833_500);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
///
/// An array takes its slices with it when it changes its type:
///
/// ```compile_fail,E0505
/// # let world = ferroshmem::World::init().unwrap();
/// let array = world.distributed::<u64>(8).unwrap();
/// let mine = &array[..];
/// let window = array.open(); // others may now write what `mine` points to
/// println!("{mine:?}");
/// ```
pub struct Distributed<A> {
    array: A,
    blocks: Blocks,
}

impl World {
    /// Allocates an array of `len` elements, of which each PE has a block, all bytes zero. Collective, with the
    /// same length on all PEs; dropping the array frees it and is collective, too.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let array = world.distributed::<f64>(1000)?; // about 1000 / n_pes elements on each PE
    /// assert_eq!((array.global_len(), array.len()), (1000, array.my_range().len()));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the symmetric heap has no room. The same on all PEs.
    #[track_caller]
    pub fn distributed<T: Plain>(&self, len: usize) -> Result<Distributed<Symmetric<'_, T>>, AllocError> {
        // Arrays of other lengths may have blocks of one size.
        step::of_world(Step::Alloc, &[(What::Length, len as u64), (What::Sharing, 2)]);
        let blocks = Blocks::of(len, self.n_pes());
        let array = self.alloc(if len == 0 { 0 } else { blocks.block })?;
        Ok(Distributed { array, blocks })
    }
}

impl<A> Distributed<A> {
    /// Elements of all PEs together.
    ///
    /// As in the example of [`World::distributed`].
    pub fn global_len(&self) -> usize {
        self.blocks.len()
    }

    /// Which PE has which elements.
    ///
    /// As in the example of [`Blocks::place`].
    pub fn blocks(&self) -> Blocks {
        self.blocks
    }

    /// The elements of this PE, by their global indices.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut array = world.distributed::<usize>(100)?;
    /// let (first, mine) = (array.my_range().start, &mut array[..]);
    /// mine.iter_mut().zip(first..).for_each(|(x, i)| *x = i);
    /// assert_eq!(array.share()[42], 42);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn my_range(&self) -> Range<usize> {
        self.blocks.range_of(Pe::new(init::me()))
    }
}

impl<'w, T: Plain> Distributed<Symmetric<'w, T>> {
    /// The elements of this PE, with their global indices.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut array = world.distributed::<usize>(100)?;
    /// array.iter_mut_with_index().for_each(|(i, x)| *x = i);
    /// assert!(array.iter_with_index().all(|(i, x)| *x == i)); // of my block
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn iter_with_index(&self) -> impl ExactSizeIterator<Item = (usize, &T)> {
        let first = self.my_range().start;
        self.iter().enumerate().map(move |(i, value)| (first + i, value))
    }

    /// As [`iter_with_index`](Self::iter_with_index), to be written.
    ///
    /// As in the example of [`iter_with_index`](Self::iter_with_index).
    pub fn iter_mut_with_index(&mut self) -> impl ExactSizeIterator<Item = (usize, &mut T)> {
        let first = self.my_range().start;
        self.iter_mut().enumerate().map(move |(i, value)| (first + i, value))
    }

    /// As [`Symmetric::share`]. Collective over the world, and a barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut array = world.distributed::<usize>(100)?;
    /// array.iter_mut_with_index().for_each(|(i, x)| *x = 2 * i);
    /// let array = array.share(); // all PEs have written
    /// assert_eq!((array.get(42), array.get(100)), (Some(&84), None)); // whichever PE has it
    /// assert_eq!(array.iter().sum::<usize>(), 9900);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn share(self) -> Distributed<Shared<'w, T>> {
        Distributed { array: self.array.share(), blocks: self.blocks }
    }

    /// As [`Symmetric::open`]. Collective over the world, and a barrier.
    ///
    /// As in the example of [`p`](Self::p).
    #[track_caller]
    pub fn open(self) -> Distributed<Window<'w, T>> {
        Distributed { array: self.array.open(), blocks: self.blocks }
    }

    /// As [`Symmetric::into_atomics`]. Collective over the world, and a barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let bins = world.distributed::<u64>(100)?.into_atomics();
    /// for sample in [3, 99, 3] {
    ///     bins.add(sample, 1)?; // whichever PE has it
    /// }
    /// let bins = bins.into_inner(); // all have added
    /// let mine = bins.iter_with_index().filter(|(_bin, n)| **n > 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn into_atomics(self) -> Distributed<Atomics<'w, T>>
    where
        T: Amo,
    {
        Distributed { array: self.array.into_atomics(), blocks: self.blocks }
    }
}

/// The block of this PE.
impl<T: Plain> Deref for Distributed<Symmetric<'_, T>> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.array[..self.my_range().len()]
    }
}

impl<T: Plain> DerefMut for Distributed<Symmetric<'_, T>> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        let n = self.my_range().len();
        &mut self.array[..n]
    }
}

impl<'w, T: Plain> Distributed<Shared<'w, T>> {
    /// An element; none if there is no such.
    ///
    /// As in the example of [`share`](Self::share).
    #[inline]
    #[track_caller]
    pub fn get(&self, index: usize) -> Option<&T> {
        let (pe, index) = self.blocks.place(index).ok()?;
        self.array.on(pe).get(index)
    }

    /// The block of a PE.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let array = world.distributed::<u8>(100)?.share();
    /// assert_eq!(world.pes().map(|pe| array.on(pe).len()).sum::<usize>(), 100);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn on(&self, pe: Pe) -> &[T] {
        &self.array.on(pe)[..self.blocks.range_of(pe).len()]
    }

    /// All elements, in the order of their indices.
    ///
    /// As in the example of [`share`](Self::share).
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.array.parts().flat_map(|(pe, _)| self.on(pe))
    }

    /// The elements of a range, as the slices of which each is in one block.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let table = world.distributed::<u32>(100)?.share();
    /// let sum: u32 = table.slices(10..90)?.flatten().sum();
    /// assert_eq!(sum, 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the array does not have them.
    pub fn slices(&self, range: impl RangeBounds<usize>) -> Result<impl Iterator<Item = &[T]>, OutOfBounds> {
        let range = within(self.blocks.len(), range)?;
        let pieces = self.blocks.pieces(range);
        Ok(pieces.map(|(pe, start, piece)| &self.array.on(pe)[start..][..piece.len()]))
    }

    /// As [`Shared::reclaim`]. Collective over the world, and a barrier.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let array = world.distributed::<u8>(100)?.share();
    /// let mut array = array.reclaim(); // all PEs have read
    /// array.fill(7); // my block
    /// assert_eq!(array.share().iter().map(|x| u32::from(*x)).sum::<u32>(), 700);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn reclaim(self) -> Distributed<Symmetric<'w, T>> {
        Distributed { array: self.array.reclaim(), blocks: self.blocks }
    }
}

impl<T: Plain> Index<usize> for Distributed<Shared<'_, T>> {
    type Output = T;

    /// # Panics
    /// If there is no such element.
    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => panic!("{}", self.blocks.out_of_bounds(index, 1)),
        }
    }
}

impl<'w, T: Plain> Distributed<Window<'w, T>> {
    /// Stores an element.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.distributed::<u32>(100)?.open();
    /// window.p(42, 7)?; // whichever PE has it
    /// world.barrier(); // all PEs have put
    /// assert_eq!(window.g(42)?, 7);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if the array does not have those elements.
    #[inline]
    #[track_caller]
    pub fn p(&self, index: usize, value: T) -> Result<(), OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.p(pe, index, value)
    }

    /// Loads an element.
    ///
    /// As in the example of [`p`](Self::p).
    ///
    /// # Errors
    /// As for [`p`](Self::p).
    #[inline]
    #[track_caller]
    pub fn g(&self, index: usize) -> Result<T, OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.g(pe, index)
    }

    /// Copies `source` to the elements from `start` on, of however many PEs. Complete as puts are.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.distributed::<u8>(100)?.open();
    /// if world.my_pe().number() == 0 {
    ///     window.put(0, &[7; 100])?; // of all PEs
    /// }
    /// let mine = window.close();
    /// assert!(mine.iter().all(|value| *value == 7));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`p`](Self::p).
    #[track_caller]
    pub fn put(&self, start: usize, source: &[T]) -> Result<(), OutOfBounds> {
        for (pe, start, piece) in self.blocks.pieces(self.blocks.from(start, source.len())?) {
            self.array.put(pe, start, &source[piece])?;
        }
        Ok(())
    }

    /// Copies the elements from `start` on to `dest`.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (window, mut middle) = (world.distributed::<u8>(100)?.open(), [1; 50]);
    /// window.get(25, &mut middle)?; // elements 25 to 74, of however many PEs
    /// assert_eq!(middle, [0; 50]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`p`](Self::p).
    #[track_caller]
    pub fn get(&self, start: usize, dest: &mut [T]) -> Result<(), OutOfBounds> {
        for (pe, start, piece) in self.blocks.pieces(self.blocks.from(start, dest.len())?) {
            self.array.get(pe, start, &mut dest[piece])?;
        }
        Ok(())
    }

    /// The elements of a range.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.distributed::<u8>(100)?.open();
    /// assert_eq!(window.get_vec(98..)?, [0; 2]);
    /// assert!(window.get_vec(98..=100).is_err());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`p`](Self::p).
    #[track_caller]
    pub fn get_vec(&self, range: impl RangeBounds<usize>) -> Result<Vec<T>, OutOfBounds> {
        let range = within(self.blocks.len(), range)?;
        let mut elements = vec![T::zeroed(); range.len()];
        self.get(range.start, &mut elements)?;
        Ok(elements)
    }

    /// The same array by PE and index in its block, for [`Window::nonblocking`] and signals. Places of a shorter block
    /// after its end exist, and belong to no element.
    ///
    /// ```
    /// # use ferroshmem::SignalUpdate;
    /// # let world = ferroshmem::World::init()?;
    /// let (window, arrived) = (world.distributed::<f64>(100)?.open(), world.signals(1)?);
    /// let (pe, place) = window.blocks().place(42)?;
    /// window.by_pe().put_signal(pe, place, &[1.0], &arrived, 0, SignalUpdate::Add(1))?;
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn by_pe(&self) -> &Window<'w, T> {
        &self.array
    }

    /// As [`Window::close`]. Collective over the world, and a barrier.
    ///
    /// As in the example of [`put`](Self::put).
    #[track_caller]
    pub fn close(self) -> Distributed<Symmetric<'w, T>> {
        Distributed { array: self.array.close(), blocks: self.blocks }
    }
}

impl<'w, T: Amo> Distributed<Atomics<'w, T>> {
    /// Reads an element.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (array, i) = (world.distributed::<u64>(world.n_pes())?.into_atomics(), world.my_pe().next().number());
    /// array.set(i, 7)?; // no other PE updates it
    /// assert_eq!(array.swap(i, 8)?, 7);
    /// assert_eq!(array.compare_swap(i, 8, 9)?, 8);
    /// assert_eq!(array.fetch(i)?, 9);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// For this and the methods below: if there is no such element.
    #[inline]
    #[track_caller]
    pub fn fetch(&self, index: usize) -> Result<T, OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.fetch(pe, index)
    }

    /// Writes an element.
    ///
    /// As in the example of [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn set(&self, index: usize, value: T) -> Result<(), OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.set(pe, index, value)
    }

    /// Writes an element; returns its old value.
    ///
    /// As in the example of [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn swap(&self, index: usize, value: T) -> Result<T, OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.swap(pe, index, value)
    }

    /// The same array by PE and index in its block, for [`Atomics::nonblocking`] and waits. Places of a shorter block
    /// after its end exist, and belong to no element.
    ///
    /// ```
    /// # use ferroshmem::Compare;
    /// # let world = ferroshmem::World::init()?;
    /// let flags = world.distributed::<u32>(world.n_pes())?.into_atomics(); // one on each PE
    /// flags.set(world.my_pe().next().number(), 1)?;
    /// assert_eq!(flags.by_pe().wait_until(0, Compare::Ne(0))?, 1); // mine, by its place in my block
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn by_pe(&self) -> &Atomics<'w, T> {
        &self.array
    }

    /// As [`Atomics::into_inner`]. Collective over the world, and a barrier.
    ///
    /// As in the example of [`into_atomics`](Self::into_atomics).
    #[track_caller]
    pub fn into_inner(self) -> Distributed<Symmetric<'w, T>> {
        Distributed { array: self.array.into_inner(), blocks: self.blocks }
    }
}

impl<T: AmoInt> Distributed<Atomics<'_, T>> {
    /// Writes `value` to an element if its value is `current`; returns its old value.
    ///
    /// As in the example of [`fetch`](Self::fetch).
    ///
    /// # Errors
    /// As for [`fetch`](Self::fetch).
    #[inline]
    #[track_caller]
    pub fn compare_swap(&self, index: usize, current: T, value: T) -> Result<T, OutOfBounds> {
        let (pe, index) = self.blocks.place(index)?;
        self.array.compare_swap(pe, index, current, value)
    }
}

macro_rules! operations {
    ($({$($generics:tt)*} $t:ty: $($fetching:ident $plain:ident),*;)*) => {$(
        impl<$($generics)*> Distributed<Atomics<'_, $t>> {$(
            #[doc = concat!("As in the example of [`Atomics::", stringify!($fetching), "`].")]
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn $fetching(&self, index: usize, value: $t) -> Result<$t, OutOfBounds> {
                let (pe, index) = self.blocks.place(index)?;
                self.array.$fetching(pe, index, value)
            }

            #[doc = concat!("As [`Atomics::", stringify!($plain), "`]; as in the example of [`Atomics::",
                stringify!($fetching), "`].")]
            ///
            /// # Errors
            /// As for [`fetch`](Self::fetch).
            #[inline]
            #[track_caller]
            pub fn $plain(&self, index: usize, value: $t) -> Result<(), OutOfBounds> {
                let (pe, index) = self.blocks.place(index)?;
                self.array.$plain(pe, index, value)
            }
        )*}
    )*};
}

operations!(
    {T: AmoInt} T: fetch_add add, fetch_and and, fetch_or or, fetch_xor xor;
    {} f32: fetch_add add;
    {} f64: fetch_add add;
);

#[cfg(feature = "rayon")]
impl<T: Plain + Send + Sync> Distributed<Symmetric<'_, T>> {
    /// The elements of this PE, with their global indices, in parallel. (Feature `rayon`)
    ///
    /// ```
    /// use rayon::iter::ParallelIterator;
    ///
    /// # let world = ferroshmem::World::init()?;
    /// let mut array = world.distributed::<f64>(1000)?;
    /// array.par_iter_mut_with_index().for_each(|(i, x)| *x = i as f64);
    /// let sum: f64 = array.par_iter_with_index().map(|(_, x)| x).sum();
    /// assert_eq!(world.reduce_value(sum, ferroshmem::Sum), 499_500.0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn par_iter_with_index(&self) -> impl rayon::iter::IndexedParallelIterator<Item = (usize, &T)> {
        use rayon::prelude::*;

        let (first, mine): (_, &[T]) = (self.my_range().start, self);
        mine.par_iter().enumerate().map(move |(i, value)| (first + i, value))
    }

    /// As [`par_iter_with_index`](Self::par_iter_with_index), to be written. (Feature `rayon`)
    ///
    /// As in the example of [`par_iter_with_index`](Self::par_iter_with_index).
    pub fn par_iter_mut_with_index(&mut self) -> impl rayon::iter::IndexedParallelIterator<Item = (usize, &mut T)> {
        use rayon::prelude::*;

        let first = self.my_range().start;
        let mine: &mut [T] = self;
        mine.par_iter_mut().enumerate().map(move |(i, value)| (first + i, value))
    }
}

impl<A> fmt::Debug for Distributed<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distributed").field("blocks", &self.blocks).finish_non_exhaustive()
    }
}

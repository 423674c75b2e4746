//! An array that all PEs put to and get from.
#![allow(unsafe_code)]

use std::ops::RangeBounds;
use std::panic::Location as Caller;
use std::slice;

use super::block::array;
use super::remote::{Location, Remote, Route};
use super::{Block, SignalUpdate, Signals, Symmetric, copy};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A symmetric array that every PE puts to and gets from, all parts of it, at any time: made by
/// [`Symmetric::open`]. There are no references to its elements, only copies.
///
/// Nothing is undefined if one PE puts what another gets: the copy is then partly old and partly
/// new, element by element where elements have 1, 2, 4 or 8 bytes and both PEs are on one node. Order is
/// made by [`World::fence`](crate::Team::fence), [`quiet`](crate::Team::quiet), signals, atomics
/// and barriers.
///
/// Errors are of bounds only: a [`Pe`] exists. Methods take `&self` and may be called by several
/// threads.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let window = world.alloc::<u64>(100)?.open();
/// let (me, next) = (world.my_pe(), world.my_pe().next());
/// window.put(next, 0, &[1, 2, 3])?; // elements 0 to 2
/// window.p(next, 99, 4)?; // one element
/// world.barrier(); // all puts have arrived
/// let mut first = [0; 3];
/// window.get(me, 0, &mut first)?;
/// assert_eq!((first, window.g(me, 99)?), ([1, 2, 3], 4));
/// let array = window.close(); // a slice again
/// assert_eq!(array[..3], first);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Window<'w, T: Plain> {
    block: Block<'w, T>,
}

// SAFETY: threads that share a window only copy elements, as if by relaxed atomics. Collective methods
// take it by value, and it cannot be sent.
unsafe impl<T: Plain + Sync> Sync for Window<'_, T> {}

impl<'w, T: Plain> Window<'w, T> {
    /// No PE has references to elements of `block`.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// Copies `source` to elements of a PE's part; `remote` does so if the PE is on another node.
    #[inline(always)]
    fn store(&self, pe: Pe, start: usize, source: &[T], remote: impl FnOnce(Remote<T>)) -> Result<(), OutOfBounds> {
        match self.block.elements(pe, start, source.len())? {
            // SAFETY: `source.len()` elements within the part, as `elements` has checked; no PE has
            // references to elements of a window.
            Location::Local(elements) => unsafe {
                copy::store(elements.as_ptr(), source.as_ptr(), source.len());
            },
            Location::Remote(elements) => remote(elements),
        }
        Ok(())
    }

    /// Copies elements of a PE's part to `dest`; `remote` does so if the PE is on another node.
    #[inline(always)]
    fn load(
        &self,
        pe: Pe,
        start: usize,
        dest: &mut [T],
        remote: impl FnOnce(Remote<T>, &mut [T]),
    ) -> Result<(), OutOfBounds> {
        match self.block.elements(pe, start, dest.len())? {
            // SAFETY: `dest.len()` elements within the part, as `elements` has checked; no PE has
            // references to elements of a window, and any bytes are elements.
            Location::Local(elements) => unsafe {
                copy::load(dest.as_mut_ptr(), elements.as_ptr(), dest.len());
            },
            Location::Remote(elements) => remote(elements, dest),
        }
        Ok(())
    }

    /// Copies `source` to the elements from `start` on of a PE's part. Complete at the target after
    /// the next [`quiet`](crate::Team::quiet) or barrier. (Standard: `shmem_put`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.alloc::<u64>(8)?.open();
    /// window.put(world.my_pe().next(), 5, &[1, 2, 3])?; // elements 5 to 7
    /// assert!(window.put(world.my_pe().next(), 6, &[1, 2, 3]).is_err()); // there is no element 8
    /// assert_eq!(window.close()[4..], [0, 1, 2, 3]); // from the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    #[track_caller]
    pub fn put(&self, pe: Pe, start: usize, source: &[T]) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.store(pe, start, source, |remote| {
            // SAFETY: within the part, as `store` has checked; no PE has references to a window's
            // elements.
            unsafe { remote.put(("Window::put", caller), source) };
        })
    }

    /// Copies the elements from `start` on of a PE's part to `dest`. (Standard: `shmem_get`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let mut mine = world.alloc::<usize>(4)?;
    /// mine.fill(world.my_pe().number());
    /// let (window, next) = (mine.open(), world.my_pe().next());
    /// let mut last = [0; 2];
    /// window.get(next, 2, &mut last)?; // its elements 2 and 3
    /// assert_eq!(last, [next.number(); 2]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    #[track_caller]
    pub fn get(&self, pe: Pe, start: usize, dest: &mut [T]) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.load(pe, start, dest, |remote, dest| {
            // SAFETY: as in `put`.
            unsafe { remote.get(("Window::get", caller), dest) };
        })
    }

    /// Stores an element of a PE's part. (Standard: `shmem_p`)
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let (me, window) = (world.my_pe(), world.alloc::<usize>(1)?.open());
    /// window.p(me.next(), 0, me.number())?;
    /// world.barrier(); // until then, it may be under way
    /// assert_eq!(window.g(me, 0)?, me.previous().number());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have that element.
    #[inline]
    #[track_caller]
    pub fn p(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        let source = slice::from_ref(&value);
        self.store(pe, index, source, |remote| {
            // SAFETY: as in `put`.
            unsafe { remote.put(("Window::p", caller), source) };
        })
    }

    /// Loads an element of a PE's part. (Standard: `shmem_g`)
    ///
    /// As in the example of [`p`](Self::p).
    ///
    /// # Errors
    /// If the part does not have that element.
    #[inline]
    #[track_caller]
    pub fn g(&self, pe: Pe, index: usize) -> Result<T, OutOfBounds> {
        let caller = Caller::caller();
        let mut value = T::zeroed();
        self.load(pe, index, slice::from_mut(&mut value), |remote, dest| {
            // SAFETY: as in `put`.
            unsafe { remote.get(("Window::g", caller), dest) };
        })?;
        Ok(value)
    }

    /// The elements of a range of a PE's part.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.alloc::<u8>(10)?.open();
    /// assert_eq!(window.get_vec(world.my_pe().next(), 7..)?, [0; 3]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[track_caller]
    pub fn get_vec(&self, pe: Pe, range: impl RangeBounds<usize>) -> Result<Vec<T>, OutOfBounds> {
        let range = self.block.range(range)?;
        let mut elements = vec![T::zeroed(); range.len()];
        self.get(pe, range.start, &mut elements)?;
        Ok(elements)
    }

    /// As [`put`](Self::put), by a route.
    #[track_caller]
    pub(crate) fn put_on(
        &self,
        name: &'static str,
        route: Route,
        start: usize,
        source: &[T],
    ) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.store(route.pe, start, source, |remote| {
            // SAFETY: as in `put`.
            unsafe { remote.on(route).put((name, caller), source) };
        })
    }

    /// As [`get`](Self::get), by a route.
    #[track_caller]
    pub(crate) fn get_on(
        &self,
        name: &'static str,
        route: Route,
        start: usize,
        dest: &mut [T],
    ) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.load(route.pe, start, dest, |remote, dest| {
            // SAFETY: as in `put`.
            unsafe { remote.on(route).get((name, caller), dest) };
        })
    }

    /// As [`put`](Self::put), by a route, complete after a quiet of its context.
    ///
    /// # Safety
    /// `source` lives, and does not change, until that.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn begin_put(&self, route: Route, start: usize, source: &[T]) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.store(route.pe, start, source, |remote| {
            // SAFETY: as in `put`; the caller promises that `source` lives unchanged until a quiet.
            unsafe { remote.on(route).begin_put(("Pending::put", caller), source) };
        })
    }

    /// As [`get`](Self::get), by a route, complete after a quiet of its context.
    ///
    /// # Safety
    /// `dest` lives, and is neither read nor written, until that.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn begin_get(&self, route: Route, start: usize, dest: &mut [T]) -> Result<(), OutOfBounds> {
        let caller = Caller::caller();
        self.load(route.pe, start, dest, |remote, dest| {
            // SAFETY: as in `put`; the caller promises that `dest` lives unused until a quiet.
            unsafe { remote.on(route).begin_get(("Pending::get", caller), dest) };
        })
    }

    /// As [`put_signal`](Self::put_signal), by a route, complete after a quiet of its context.
    ///
    /// # Safety
    /// `source` lives, and does not change, until that.
    #[track_caller]
    pub(crate) unsafe fn begin_put_signal(
        &self,
        route: Route,
        start: usize,
        source: &[T],
        (signals, signal): (&Signals<'_>, usize),
        update: SignalUpdate,
    ) -> Result<(), OutOfBounds> {
        let signal = signals.words().own(signal)?;
        // SAFETY: the caller promises that `source` is unchanged until the put is complete.
        unsafe { self.begin_put(route, start, source)? };
        let name = "Pending::put_signal";
        // SAFETY: a word of a symmetric array, used by atomics only; it is updated after the put.
        unsafe { update.apply_on(name, route.context, signal, route.number) };
        Ok(())
    }

    /// Puts, then updates a signal of the same PE: a PE that sees the update sees what was put.
    /// (Standard: `shmem_put_signal`)
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let (window, ready) = (world.alloc::<f64>(100)?.open(), world.signals(1)?);
    /// window.put_signal(world.my_pe().next(), 0, &[2.5; 100], &ready, 0, SignalUpdate::Set(1))?;
    /// ready.wait_until(0, Compare::Eq(1))?; // for the previous PE alone, not for all
    /// assert_eq!(window.g(world.my_pe(), 99)?, 2.5);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the part does not have those elements, or there is no such signal.
    #[inline]
    #[track_caller]
    pub fn put_signal(
        &self,
        pe: Pe,
        start: usize,
        source: &[T],
        signals: &Signals<'_>,
        signal: usize,
        update: SignalUpdate,
    ) -> Result<(), OutOfBounds> {
        signals.check(signal)?;
        self.put(pe, start, source)?;
        signals.update(pe, signal, update)
    }

    /// Ends puts and gets: each PE has its own part to itself again. Collective over the world, and
    /// a barrier: all puts have arrived.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let window = world.alloc::<u32>(2)?.open();
    /// window.put(world.my_pe().next(), 0, &[3, 4])?;
    /// let array = window.close(); // waits for all PEs
    /// assert_eq!(array[..], [3, 4]);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn close(self) -> Symmetric<'w, T> {
        step::of_world(Step::Close, &[(What::Array, self.block.id())]);
        Symmetric::over(self.block)
    }
}

array!(Window, Plain);

//! An array that all PEs put to and get from.
#![allow(unsafe_code)]

use std::{fmt, slice};

use super::far::{Far, Place};
use super::{Block, Symmetric, copy};
use crate::error::OutOfBounds;
use crate::pe::Pe;
use crate::pending::{Completion, Pending};
use crate::plain::Plain;
use crate::signal::{SignalUpdate, Signals};
use crate::step::{self, Step};

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
pub struct Window<'w, T: Plain> {
    block: Block<'w, T>,
}

// SAFETY: all that threads that share it do is to copy as if by relaxed atomics. What is collective
// takes it by value, and it cannot be sent.
unsafe impl<T: Plain + Sync> Sync for Window<'_, T> {}

impl<'w, T: Plain> Window<'w, T> {
    /// Nobody has references to elements of `block`.
    pub(super) fn over(block: Block<'w, T>) -> Self {
        Self { block }
    }

    /// Elements of each part.
    pub fn len(&self) -> usize {
        self.block.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies `source` to elements of a PE's part; `far` does so where they are beyond the fabric.
    #[inline(always)]
    fn store(
        &self,
        pe: Pe,
        start: usize,
        source: &[T],
        far: impl FnOnce(Far<T>),
    ) -> Result<(), OutOfBounds> {
        match self.block.elements(pe, start, source.len())? {
            // SAFETY: within the part (checked); there are no references to windows.
            Place::Here(there) => unsafe {
                copy::store(there.as_ptr(), source.as_ptr(), source.len());
            },
            Place::There(there) => far(there),
        }
        Ok(())
    }

    /// Copies elements of a PE's part to `dest`; `far` does so where they are beyond the fabric.
    #[inline(always)]
    fn load(
        &self,
        pe: Pe,
        start: usize,
        dest: &mut [T],
        far: impl FnOnce(Far<T>, &mut [T]),
    ) -> Result<(), OutOfBounds> {
        match self.block.elements(pe, start, dest.len())? {
            // SAFETY: as in `store`; any bytes are elements.
            Place::Here(there) => unsafe {
                copy::load(dest.as_mut_ptr(), there.as_ptr(), dest.len());
            },
            Place::There(there) => far(there, dest),
        }
        Ok(())
    }

    /// Copies `source` to the elements from `start` on of a PE's part. Complete at the target after
    /// the next [`quiet`](crate::Team::quiet) or barrier. (Standard: `shmem_put`)
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    pub fn put(&self, pe: Pe, start: usize, source: &[T]) -> Result<(), OutOfBounds> {
        self.store(pe, start, source, |far| {
            // SAFETY: within the part; there are no references to windows.
            unsafe { far.put("Window::put", source) };
        })
    }

    /// Copies the elements from `start` on of a PE's part to `dest`. (Standard: `shmem_get`)
    ///
    /// # Errors
    /// If the part does not have those elements.
    #[inline]
    pub fn get(&self, pe: Pe, start: usize, dest: &mut [T]) -> Result<(), OutOfBounds> {
        self.load(pe, start, dest, |far, dest| {
            // SAFETY: as in `put`.
            unsafe { far.get("Window::get", dest) };
        })
    }

    /// Stores an element of a PE's part. (Standard: `shmem_p`)
    ///
    /// # Errors
    /// If the part does not have that element.
    #[inline]
    pub fn p(&self, pe: Pe, index: usize, value: T) -> Result<(), OutOfBounds> {
        let source = slice::from_ref(&value);
        self.store(pe, index, source, |far| {
            // SAFETY: as in `put`.
            unsafe { far.put("Window::p", source) };
        })
    }

    /// Loads an element of a PE's part. (Standard: `shmem_g`)
    ///
    /// # Errors
    /// If the part does not have that element.
    #[inline]
    pub fn g(&self, pe: Pe, index: usize) -> Result<T, OutOfBounds> {
        let mut value = T::zeroed();
        self.load(pe, index, slice::from_mut(&mut value), |far, dest| {
            // SAFETY: as in `put`.
            unsafe { far.get("Window::g", dest) };
        })?;
        Ok(value)
    }

    /// As [`put`](Self::put), complete after a quiet of `context`, in which the PE has that `number`.
    pub(crate) fn put_through(
        &self,
        (context, number): (usize, usize),
        pe: Pe,
        start: usize,
        source: &[T],
    ) -> Result<(), OutOfBounds> {
        self.store(pe, start, source, |far| {
            // SAFETY: as in `put`.
            unsafe { far.through(context, number).put("Context::put", source) };
        })
    }

    /// As [`get`](Self::get), by `context`, in which the PE has that `number`.
    pub(crate) fn get_through(
        &self,
        (context, number): (usize, usize),
        pe: Pe,
        start: usize,
        dest: &mut [T],
    ) -> Result<(), OutOfBounds> {
        self.load(pe, start, dest, |far, dest| {
            // SAFETY: as in `put`.
            unsafe { far.through(context, number).get("Context::get", dest) };
        })
    }

    /// As [`put`](Self::put), complete after a quiet.
    ///
    /// # Safety
    /// Nobody changes `source` before a quiet.
    #[inline]
    pub(crate) unsafe fn begin_put(
        &self,
        pe: Pe,
        start: usize,
        source: &[T],
    ) -> Result<(), OutOfBounds> {
        self.store(pe, start, source, |far| {
            // SAFETY: as in `put`, and the caller's promise.
            unsafe { far.begin_put("Pending::put", source) };
        })
    }

    /// As [`get`](Self::get), complete after a quiet.
    ///
    /// # Safety
    /// Nobody uses `dest` before a quiet.
    #[inline]
    pub(crate) unsafe fn begin_get(
        &self,
        pe: Pe,
        start: usize,
        dest: &mut [T],
    ) -> Result<(), OutOfBounds> {
        self.load(pe, start, dest, |far, dest| {
            // SAFETY: as in `put`, and the caller's promise.
            unsafe { far.begin_get("Pending::get", dest) };
        })
    }

    /// Puts, then updates a signal of the same PE: who sees the signal sees what was put. (Standard:
    /// `shmem_put_signal`)
    ///
    /// # Errors
    /// If the part does not have those elements, or there is no such signal.
    #[inline]
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

    /// Runs `body`, which may begin puts and gets whose buffers are in use until they are complete,
    /// and completes them.
    ///
    /// ```
    /// # use ferroshmem::World;
    /// # fn main() -> Result<(), ferroshmem::Error> {
    /// # let world = World::init()?;
    /// let window = world.alloc::<f64>(100)?.open();
    /// let (data, mut edge) = ([1.0; 50], [0.0; 2]);
    /// window.nonblocking(|pending| {
    ///     pending.put(world.my_pe().next(), 0, &data)?;
    ///     pending.get(world.my_pe().previous(), 98, &mut edge)
    ///     // compute something that uses neither
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// A buffer can be neither changed nor dropped before:
    ///
    /// ```compile_fail,E0506
    /// # use ferroshmem::World;
    /// # let world = World::init().unwrap();
    /// let window = world.alloc::<f64>(100).unwrap().open();
    /// let mut data = [1.0; 50];
    /// window.nonblocking(|pending| {
    ///     pending.put(world.my_pe().next(), 0, &data).unwrap();
    ///     data[0] = 2.0;
    /// });
    /// ```
    pub fn nonblocking<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope Pending<'scope, 'env, T>) -> R,
    ) -> R {
        let _completion = Completion;
        body(&Pending::new(self))
    }

    /// Ends puts and gets: each PE has its own part to itself again. Collective over the world, and
    /// a barrier: all puts have arrived.
    pub fn close(self) -> Symmetric<'w, T> {
        crate::team::quiet();
        step::of_world(Step::Close, &[self.block.id()]);
        Symmetric::over(self.block)
    }

    pub(super) fn block(&self) -> &Block<'w, T> {
        &self.block
    }
}

impl<T: Plain> fmt::Debug for Window<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Window")
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

//! Memory that belongs to whoever holds its lock (standard, "Distributed Locking Routines").
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::{fmt, slice};

use ferroshmem_core::api::lock;

use crate::error::AllocError;
use crate::memory::{Block, Place};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step};

/// A value, one for all PEs, that whoever holds its lock reads and writes: made by
/// [`World::locked`](crate::World::locked). First come, first served.
///
/// The value is PE 0's. A PE of another node gets it with the lock, and puts it back with the lock if
/// it was borrowed mutably: large values take that long.
///
/// ```
/// # use ferroshmem::World;
/// # fn main() -> Result<(), ferroshmem::Error> {
/// # let world = World::init()?;
/// let total = world.locked(0u64)?;
/// *total.lock() += 1;
/// world.barrier();
/// assert_eq!(*total.lock(), world.n_pes() as u64);
/// # Ok(())
/// # }
/// ```
pub struct Locked<'w, T: Plain> {
    words: Block<'w, i64>,
    value: Block<'w, T>,
}

// SAFETY: the value is used by the holder of the lock only, and tickets of threads are as good as
// those of PEs.
unsafe impl<T: Plain + Send> Sync for Locked<'_, T> {}

/// The right to use a [`Locked`] value; it ends when this is dropped.
pub struct Guard<'a, T: Plain> {
    locked: &'a Locked<'a, T>,
    /// The value: where it is, or on another node than PE 0's this PE's copy, got when the lock was
    /// taken.
    value: NonNull<T>,
    /// Whether the value may have been changed.
    written: bool,
    /// A guard stays on its thread.
    thread: PhantomData<*mut T>,
}

impl<T: Plain> Locked<'_, T> {
    /// The value that PE 0 gives is the one that counts.
    pub(crate) fn new(value: T) -> Result<Self, AllocError> {
        let this = Self {
            words: Block::new(1)?,
            value: Block::new(1)?,
        };
        // SAFETY: each PE writes its own copy, of which PE 0's is used, after the step.
        unsafe { this.value.mine().write(value) };
        step::of_world(Step::Alloc, &[this.value.id(), 1]);
        Ok(this)
    }

    /// Waits for the lock and takes it. A thread that holds it already waits for ever.
    pub fn lock(&self) -> Guard<'_, T> {
        // SAFETY: a symmetric long that was zero at first.
        unsafe { lock::set("Locked::lock", self.words.mine().as_ptr()) };
        self.guard()
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // SAFETY: as in `lock`.
        let held = unsafe { lock::test("Locked::try_lock", self.words.mine().as_ptr()) };
        (held == 0).then(|| self.guard())
    }

    fn guard(&self) -> Guard<'_, T> {
        let value = match self.home() {
            Place::Here(value) => value,
            Place::There(far) => {
                let copy = self.value.mine();
                // SAFETY: the holder of the lock is the only user of the value, and among the
                // threads of this PE of its copy.
                unsafe { far.get("Locked::lock", slice::from_mut(&mut *copy.as_ptr())) };
                copy
            }
        };
        Guard {
            locked: self,
            value,
            written: false,
            thread: PhantomData,
        }
    }

    /// The value that counts.
    fn home(&self) -> Place<T> {
        let home = self.value.elements(Pe::new(0), 0, 1);
        home.expect("there is one value")
    }
}

impl<T: Plain> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: initialised; the holder of the lock is the only user.
        unsafe { self.value.as_ref() }
    }
}

impl<T: Plain> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.written = true;
        // SAFETY: as in `deref`.
        unsafe { self.value.as_mut() }
    }
}

impl<T: Plain> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        if self.written
            && let Place::There(far) = self.locked.home()
        {
            // SAFETY: this guard holds the lock. The put is complete before the lock is given back.
            unsafe { far.put("Guard::drop", slice::from_ref(self.value.as_ref())) };
        }
        // SAFETY: this guard holds the lock.
        unsafe { lock::clear("Guard::drop", self.locked.words.mine().as_ptr()) };
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Guard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: Plain> fmt::Debug for Locked<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Locked").finish_non_exhaustive()
    }
}

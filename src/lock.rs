//! Values of which only the holder of a lock has the use (standard, "Distributed Locking Routines").
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location as Caller;
use std::ptr::NonNull;
use std::{fmt, slice};

use ferroshmem_api::check::Concerns;
use ferroshmem_api::lock;
use ferroshmem_api::record::{self, Kind, Record};

use crate::error::AllocError;
use crate::memory::{Block, Location};
use crate::pe::Pe;
use crate::plain::Plain;
use crate::step::{self, Step, What};

/// A value, one for all PEs, that the holder of its lock reads and writes: made by
/// [`World::locked`](crate::World::locked). PEs that wait get the lock in the order in which they came; where PEs
/// outnumber cores, one that runs may overtake them for some microseconds.
///
/// The value is in PE 0's memory. A PE of another node gets a copy when it takes the lock, and puts it
/// back before it releases the lock if it borrowed the value mutably: so a large value makes the lock slow.
///
/// ```
/// # let world = ferroshmem::World::init()?;
/// let total = world.locked(0u64)?;
/// *total.lock() += 1;
/// world.barrier();
/// assert_eq!(*total.lock(), world.n_pes() as u64);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
pub struct Locked<'w, T: Plain> {
    words: Block<'w, i64>,
    value: Block<'w, T>,
}

// SAFETY: only the holder of the lock uses the value, and the lock's tickets exclude threads of one PE
// from each other as they do PEs.
unsafe impl<T: Plain + Send> Sync for Locked<'_, T> {}

/// The right to use a [`Locked`] value; it ends when this is dropped.
pub struct Guard<'a, T: Plain> {
    locked: &'a Locked<'a, T>,
    /// The value in PE 0's memory, or on another node this PE's copy of it, got when the lock was
    /// taken.
    value: NonNull<T>,
    /// Whether the value may have been changed.
    written: bool,
    /// A guard stays on its thread.
    thread: PhantomData<*mut T>,
}

impl<T: Plain> Locked<'_, T> {
    /// The lock protects the value that PE 0 passes.
    #[track_caller]
    pub(crate) fn new(value: T) -> Result<Self, AllocError> {
        let this = Self { words: Block::new(1, None)?, value: Block::new(1, None)? };
        // SAFETY: each PE writes its own element; no other PE reads it before the step.
        unsafe { this.value.mine().write(value) };
        step::of_world(Step::Alloc, &[(What::Array, this.value.id()), (What::Sharing, 1)]);
        Ok(this)
    }

    /// Waits for the lock and takes it. A thread that holds it already waits for ever.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let total = world.locked(0)?;
    /// {
    ///     let mut total = total.lock(); // others wait
    ///     *total += 1;
    /// } // the next gets it
    /// world.barrier();
    /// assert_eq!(*total.lock(), world.n_pes());
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn lock(&self) -> Guard<'_, T> {
        {
            let _record = self.record("Locked::lock", Kind::Lock);
            // SAFETY: a symmetric word, zero at first, that only lock routines use.
            unsafe { lock::set("Locked::lock", self.words.mine().as_ptr()) };
        }
        self.guard()
    }

    /// Takes the lock if it is free.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let latest = world.locked([0.0f64; 3])?;
    /// if let Some(mut latest) = latest.try_lock() {
    ///     *latest = [1.0, 2.0, 3.0];
    /// } // released
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        let _record = self.record("Locked::try_lock", Kind::Test);
        // SAFETY: as in `lock`.
        let held = unsafe { lock::test("Locked::try_lock", self.words.mine().as_ptr()) };
        if held == 0 { Some(self.guard()) } else { None }
    }

    #[track_caller]
    fn guard(&self) -> Guard<'_, T> {
        let value = match self.home() {
            Location::Local(value) => value,
            Location::Remote(remote) => {
                let copy = self.value.mine();
                // SAFETY: this thread holds the lock, so no other uses the value or this PE's copy.
                unsafe {
                    remote.get(("Locked::lock", Caller::caller()), slice::from_mut(&mut *copy.as_ptr()));
                };
                copy
            }
        };
        Guard { locked: self, value, written: false, thread: PhantomData }
    }

    #[track_caller]
    fn record(&self, name: &'static str, kind: Kind) -> Option<Record> {
        record::begin((name, Caller::caller()), kind, Concerns::None, 0, self.words.mine().addr().get())
    }

    /// The value in PE 0's part.
    fn home(&self) -> Location<T> {
        let home = self.value.elements(Pe::new(0), 0, 1);
        home.expect("there is one value")
    }
}

impl<T: Plain> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: initialised; this guard holds the lock, so no other thread or PE uses the value.
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
            && let Location::Remote(remote) = self.locked.home()
        {
            // SAFETY: this guard holds the lock, and releasing the lock completes the put first.
            unsafe {
                remote.put(("Guard::drop", Caller::caller()), slice::from_ref(self.value.as_ref()));
            };
        }
        let _record = self.locked.record("Guard::drop", Kind::Unlock);
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

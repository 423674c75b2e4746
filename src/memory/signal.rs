//! Signals: words that puts update after their data (standard, "Signaling Operations").
#![allow(unsafe_code)]

use std::panic::Location;

use ferroshmem_api::check::Concerns;
use ferroshmem_api::record::{self, Kind};
use ferroshmem_api::{constants, signal};

use crate::compare::Compare;
use crate::error::OutOfBounds;
use crate::init;
use crate::memory::Atomics;
use crate::order;
use crate::pe::Pe;

/// What a put does to a signal.
///
/// ```
/// # use ferroshmem::SignalUpdate;
/// # let world = ferroshmem::World::init()?;
/// let (me, signals) = (world.my_pe(), world.signals(1)?);
/// signals.update(me, 0, SignalUpdate::Set(5))?;
/// signals.update(me, 0, SignalUpdate::Add(2))?;
/// assert_eq!(signals.fetch(0)?, 7);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalUpdate {
    /// Sets it.
    Set(u64),
    /// Adds to it.
    Add(u64),
}

impl SignalUpdate {
    /// The value, and what is done with it.
    pub(crate) fn parts(self) -> (u64, i32) {
        match self {
            Self::Set(value) => (value, constants::SIGNAL_SET),
            Self::Add(value) => (value, constants::SIGNAL_ADD),
        }
    }

    /// Updates the signal of PE `pe` that has the address `signal` on this one, after all puts to it before.
    ///
    /// # Safety
    /// It is a word of memory that this PE reaches by that address and number, used by atomics only.
    #[track_caller]
    pub(crate) unsafe fn apply(self, name: &'static str, signal: *mut u64, pe: usize) {
        // SAFETY: the caller promises that `signal` is a word of symmetric memory used as a signal.
        unsafe { self.apply_on(name, constants::CTX_DEFAULT, signal, pe) }
    }

    /// As [`apply`](Self::apply), by a context in whose team the PE has the number `pe`.
    ///
    /// # Safety
    /// As for that.
    #[track_caller]
    pub(crate) unsafe fn apply_on(self, name: &'static str, context: usize, signal: *mut u64, pe: usize) {
        let (value, operation) = self.parts();
        let (call, concerns) = ((name, Location::caller()), Concerns::Pe(context, pe as i32));
        let _record = record::begin(call, Kind::Signal, concerns, 8, signal.addr());
        order::end_copies(name, context);
        // SAFETY: the caller promises a signal of that PE; 0 bytes are copied.
        unsafe {
            signal::put_signal(name, context, signal.cast(), signal.cast(), 0, signal, value, operation, pe as i32);
        }
    }
}

/// Some signals on every PE, all zero at first: made by [`World::signals`](crate::World::signals).
///
/// ```
/// # use ferroshmem::{Compare, SignalUpdate};
/// # let world = ferroshmem::World::init()?;
/// let window = world.alloc::<f64>(100)?.open();
/// let arrived = world.signals(1)?;
/// window.put_signal(world.my_pe().next(), 0, &[2.5; 100], &arrived, 0, SignalUpdate::Set(1))?;
/// arrived.wait_until(0, Compare::Eq(1))?; // from the previous PE
/// assert_eq!(window.g(world.my_pe(), 99)?, 2.5);
/// # Ok::<(), ferroshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Signals<'w> {
    words: Atomics<'w, u64>,
}

impl<'w> Signals<'w> {
    pub(crate) fn over(words: Atomics<'w, u64>) -> Self {
        Self { words }
    }

    /// Number of signals on each PE.
    ///
    /// ```
    /// # let world = ferroshmem::World::init()?;
    /// let signals = world.signals(3)?;
    /// assert_eq!((signals.len(), signals.is_empty()), (3, false));
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    ///
    /// As in the example of [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(crate) fn words(&self) -> &Atomics<'w, u64> {
        &self.words
    }

    pub(crate) fn check(&self, index: usize) -> Result<(), OutOfBounds> {
        self.words.own(index).map(drop)
    }

    /// Updates a signal of a PE, after all puts to it before.
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let arrived = world.signals(1)?;
    /// for pe in world.pes() {
    ///     arrived.update(pe, 0, SignalUpdate::Add(1))?;
    /// }
    /// arrived.wait_until(0, Compare::Eq(world.n_pes() as u64))?; // all have come here
    /// arrived.reset(0, 0)?; // for the next time
    /// assert_eq!(arrived.fetch(0)?, 0);
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of a signal.
    #[track_caller]
    pub fn update(&self, pe: Pe, index: usize, update: SignalUpdate) -> Result<(), OutOfBounds> {
        let mine = self.words.own(index)?;
        // SAFETY: a word of a symmetric array, used by atomics only.
        unsafe { update.apply("Signals::update", mine, pe.number()) };
        Ok(())
    }

    /// A signal of mine as it is now.
    ///
    /// As in the example of [`update`](Self::update).
    ///
    /// # Errors
    /// If the index is not that of a signal.
    pub fn fetch(&self, index: usize) -> Result<u64, OutOfBounds> {
        let mine = self.words.own(index)?;
        // SAFETY: a word of this PE's part, used by atomics only.
        let value = unsafe { signal::signal_fetch("Signals::fetch", mine) };
        record::seen(mine.addr(), 8);
        Ok(value)
    }

    /// Waits until a signal of mine compares so, asleep if that takes long; returns its value then.
    /// After it, this PE sees what was put before the update.
    ///
    /// ```
    /// # use ferroshmem::{Compare, SignalUpdate};
    /// # let world = ferroshmem::World::init()?;
    /// let ready = world.signals(1)?;
    /// ready.update(world.my_pe().next(), 0, SignalUpdate::Set(3))?;
    /// assert_eq!(ready.wait_until(0, Compare::Gt(1))?, 3); // for the previous PE
    /// # Ok::<(), ferroshmem::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the index is not that of a signal.
    #[track_caller]
    pub fn wait_until(&self, index: usize, compare: Compare<u64>) -> Result<u64, OutOfBounds> {
        let mine = self.words.own(index)?;
        let (cmp, value) = match compare {
            Compare::Eq(value) => (constants::CMP_EQ, value),
            Compare::Ne(value) => (constants::CMP_NE, value),
            Compare::Lt(value) => (constants::CMP_LT, value),
            Compare::Le(value) => (constants::CMP_LE, value),
            Compare::Gt(value) => (constants::CMP_GT, value),
            Compare::Ge(value) => (constants::CMP_GE, value),
        };
        let call = ("Signals::wait_until", Location::caller());
        let _record = record::begin(call, Kind::Wait, Concerns::None, 8, mine.addr());
        // SAFETY: a word of this PE's part, used by atomics only.
        let value = unsafe { signal::signal_wait_until("Signals::wait_until", mine, cmp, value) };
        record::seen(mine.addr(), 8);
        Ok(value)
    }

    /// Sets a signal of mine, such as to zero before the next use.
    ///
    /// As in the example of [`update`](Self::update).
    ///
    /// # Errors
    /// If the index is not that of a signal.
    #[track_caller]
    pub fn reset(&self, index: usize, value: u64) -> Result<(), OutOfBounds> {
        self.words.set(Pe::new(init::me()), index, value)
    }
}

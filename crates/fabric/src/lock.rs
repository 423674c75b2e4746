//! Locks whose data a panic leaves whole.

#[cfg(test)]
use std::cell::Cell;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ferroshmem_platform::{Held, ShortLock};

use crate::batches::Lock;

#[cfg(test)]
thread_local! {
    static TAKEN: Cell<usize> = const { Cell::new(0) };
}

/// How many locks this thread has taken, but those of its own batches.
#[cfg(test)]
pub(crate) fn taken() -> usize {
    TAKEN.with(Cell::get)
}

/// A lock is taken.
#[inline]
fn count() {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + 1));
}

/// Locks a mutex, also after a thread has panicked with it: what mutexes of this crate hold is whole
/// at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    count();
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes a short lock.
#[inline]
pub(crate) fn hold<T>(lock: &ShortLock<T>) -> Held<'_, T> {
    count();
    lock.lock()
}

impl<T> Lock<T> for ShortLock<T> {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.lock())
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.try_lock().map(|mut held| f(&mut held))
    }
}

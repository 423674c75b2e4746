//! Locks whose data a panic leaves whole.

#[cfg(test)]
use std::cell::Cell;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

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

/// Locks a mutex, also after a thread has panicked with it: what mutexes of this crate hold is whole
/// at every moment.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    #[cfg(test)]
    TAKEN.with(|taken| taken.set(taken.get() + 1));
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A lock that is taken for each word which a program sends, and seldom by two threads at a time. It is given back by a
/// plain store: a mutex asks by an atomic operation whether a thread sleeps, which takes as long as all the rest of
/// appending a word.
#[derive(Default)]
pub(crate) struct ShortLock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has access to the value.
unsafe impl<T: Send> Sync for ShortLock<T> {}

impl<T> ShortLock<T> {
    #[inline]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        #[cfg(test)]
        TAKEN.with(|taken| taken.set(taken.get() + 1));
        self.take()
    }

    #[inline]
    fn take(&self) -> Held<'_, T> {
        if self.is_held.swap(true, Acquire) {
            self.wait();
        }
        Held(self)
    }

    /// Waits for the lock, and takes it.
    #[cold]
    fn wait(&self) {
        /// Polls, and then yields, before this thread sleeps: the one that has the lock may be unable to run beside it.
        const POLLS: u32 = 100;
        const YIELDS: u32 = 1000;

        let mut tries = 0;
        while self.is_held.load(Relaxed) || self.is_held.swap(true, Acquire) {
            tries += 1;
            match tries {
                ..POLLS => std::hint::spin_loop(),
                POLLS..YIELDS => thread::yield_now(),
                _ => thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}

impl<T> From<T> for ShortLock<T> {
    fn from(value: T) -> ShortLock<T> {
        ShortLock { is_held: AtomicBool::new(false), value: value.into() }
    }
}

impl<T> Lock<T> for ShortLock<T> {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        f(&mut self.take())
    }

    fn try_with<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        (!self.is_held.swap(true, Acquire)).then(|| f(&mut Held(self)))
    }
}

/// A lock that this thread has taken.
pub(crate) struct Held<'l, T>(&'l ShortLock<T>);

impl<T> Deref for Held<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Held<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_held.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time_has_the_lock() {
        let count = ShortLock::<u64>::default();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20_000 {
                        let mut held = count.lock();
                        // Two steps, between which another thread would be noticed.
                        let before = *held;
                        std::hint::black_box(&mut *held);
                        *held = before + 1;
                    }
                });
            }
        });
        assert_eq!(*count.lock(), 80_000);
    }
}

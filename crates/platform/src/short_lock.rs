//! A lock for a few instructions.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;
use std::time::Duration;

/// A lock that is taken often, and seldom by two threads at a time. It is given back by a plain store: a mutex asks by
/// an atomic operation whether a thread sleeps, which takes as long as what is done with the lock.
#[derive(Debug, Default)]
pub struct ShortLock<T> {
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has access to the value.
unsafe impl<T: Send> Sync for ShortLock<T> {}

impl<T> ShortLock<T> {
    /// Waits until no other thread has the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> Held<'_, T> {
        if self.is_held.swap(true, Acquire) {
            self.wait();
        }
        Held(self)
    }

    /// Takes the lock; None if a thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<Held<'_, T>> {
        let is_held = self.is_held.load(Relaxed) || self.is_held.swap(true, Acquire);
        (!is_held).then(|| Held(self))
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

/// A lock that this thread has taken.
#[derive(Debug)]
pub struct Held<'l, T>(&'l ShortLock<T>);

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

//! A lock that no thread waits for.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

/// A value of which one thread at a time has the lock. Its end is a store, which takes a fraction of the exchange by
/// which a mutex ends.
#[derive(Default)]
pub(super) struct TryLock<T> {
    is_taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has the value, as with a mutex.
unsafe impl<T: Send> Sync for TryLock<T> {}

/// The lock of a value, until it is dropped.
pub(super) struct Guard<'a, T>(&'a TryLock<T>);

impl<T> TryLock<T> {
    /// None if a thread has the lock.
    #[inline]
    pub(super) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let was_taken = self.is_taken.load(Ordering::Relaxed) || self.is_taken.swap(true, Ordering::Acquire);
        (!was_taken).then(|| Guard(self))
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_taken.store(false, Ordering::Release);
    }
}

//! The lock of a PE's messages, which is taken only where several threads may call the library at a time.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// A value, and the lock that guards it.
#[derive(Debug)]
pub(super) struct Lock<T> {
    mutex: Mutex<()>,
    /// Whether a guard exists, of a thread that needs no lock.
    is_held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one guard exists at a time: the mutex sees to it, or one thread at a time calls the library, and
// `is_held` keeps that one from a second guard.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The one access to the value.
pub(super) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    mutex: Option<MutexGuard<'a, ()>>,
}

impl<T> Lock<T> {
    /// Of a value.
    pub(super) fn new(value: T) -> Self {
        Self { mutex: Mutex::new(()), is_held: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Waits until there is no guard, and makes one.
    ///
    /// # Safety
    /// Where not `is_threaded`, one thread at a time calls the library, as the program has promised in
    /// `shmem_init_thread`.
    #[inline]
    pub(super) unsafe fn lock(&self, is_threaded: bool) -> Guard<'_, T> {
        let mutex = is_threaded.then(|| self.mutex.lock().unwrap_or_else(|e| e.into_inner()));
        self.guard(mutex).expect("the thread has left its last call")
    }

    /// The value, if there is no guard: for a thread that needs no lock, and for no longer than a few instructions.
    ///
    /// # Safety
    /// One thread at a time calls the library, as the program has promised in `shmem_init_thread`. The caller makes no
    /// guard, and does not come here again, while it uses the value.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "the caller promises that it has the only access")]
    pub(super) unsafe fn alone(&self) -> Option<&mut T> {
        if self.is_held.load(Ordering::Relaxed) {
            return None;
        }
        // SAFETY: there is no guard, and the caller promises to be alone.
        Some(unsafe { &mut *self.value.get() })
    }

    /// Makes a guard if there is none.
    ///
    /// # Safety
    /// As [`lock`](Self::lock).
    pub(super) unsafe fn try_lock(&self, is_threaded: bool) -> Option<Guard<'_, T>> {
        let mutex = match is_threaded.then(|| self.mutex.try_lock()) {
            None => None,
            Some(Ok(mutex)) => Some(mutex),
            Some(Err(TryLockError::Poisoned(e))) => Some(e.into_inner()),
            Some(Err(TryLockError::WouldBlock)) => return None,
        };
        self.guard(mutex)
    }

    #[inline]
    fn guard<'a>(&'a self, mutex: Option<MutexGuard<'a, ()>>) -> Option<Guard<'a, T>> {
        if mutex.is_none() {
            // Of this thread alone: no other one is in the library.
            if self.is_held.load(Ordering::Relaxed) {
                return None;
            }
            self.is_held.store(true, Ordering::Relaxed);
        }
        Some(Guard { lock: self, mutex })
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this is the one guard.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this is the one guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.mutex.is_none() {
            self.lock.is_held.store(false, Ordering::Relaxed);
        }
    }
}

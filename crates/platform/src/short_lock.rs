//! A lock for a few instructions.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::Ordering::*;
use std::thread;
use std::time::Duration;

use crate::atomic::{Atomic as _, Atomics, Std};

/// A lock that is taken often, and seldom by two threads at a time. It is given back by a plain store: a mutex asks by
/// an atomic operation whether a thread sleeps, which takes as long as what is done with the lock.
#[derive(Debug, Default)]
pub struct ShortLock<T, A: Atomics = Std> {
    is_held: A::Bool,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time has access to the value.
unsafe impl<T: Send, A: Atomics> Sync for ShortLock<T, A> {}

impl<T, A: Atomics> ShortLock<T, A> {
    /// Waits until no other thread has the lock, and takes it.
    #[inline]
    pub fn lock(&self) -> Held<'_, T, A> {
        if self.is_held.swap(true, Acquire) {
            self.wait();
        }
        Held(self)
    }

    /// Takes the lock; None if a thread has it.
    #[inline]
    pub fn try_lock(&self) -> Option<Held<'_, T, A>> {
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

impl<T, A: Atomics> From<T> for ShortLock<T, A> {
    fn from(value: T) -> ShortLock<T, A> {
        ShortLock { is_held: A::Bool::default(), value: value.into() }
    }
}

/// A lock that this thread has taken.
#[derive(Debug)]
pub struct Held<'l, T, A: Atomics = Std>(&'l ShortLock<T, A>);

impl<T, A: Atomics> Deref for Held<'_, T, A> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.0.value.get() }
    }
}

impl<T, A: Atomics> DerefMut for Held<'_, T, A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T, A: Atomics> Drop for Held<'_, T, A> {
    #[inline]
    fn drop(&mut self) {
        self.0.is_held.store(false, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::Loom;

    /// For loom, a swap that finds the lock taken may come after its release: so none is tried again here.
    #[test]
    fn a_short_lock_orders_what_is_done_with_it() {
        use loom::{sync::Arc, sync::atomic::AtomicU32, thread};
        loom::model(|| {
            let shared = Arc::new((ShortLock::<_, Loom>::from(()), AtomicU32::new(0)));
            let add = |(lock, count): &(ShortLock<(), Loom>, AtomicU32)| {
                let held = lock.try_lock();
                if held.is_some() {
                    count.store(count.load(Relaxed) + 1, Relaxed);
                }
                u32::from(held.is_some())
            };
            let other = shared.clone();
            let other = thread::spawn(move || add(&other));
            let n = add(&shared) + other.join().unwrap();
            assert_eq!(shared.1.load(Relaxed), n);
        });
    }

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

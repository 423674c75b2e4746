//! A 32-bit word that PEs can sleep on.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferroshmem_platform::watch;

use super::Rest;
use super::strategy::{Next, WaitStrategy};
use crate::futex::{self, ANY};

/// What the waiting algorithms need of a word. The real one is an `AtomicU32` in shared
/// memory; the model checker brings its own.
pub trait Word {
    /// Reads with acquire order.
    fn load(&self) -> u32;
    /// Replaces the value, acquire and release.
    fn swap(&self, value: u32) -> u32;
    /// Replaces `old` by `new` if it is still there; whether it was.
    fn replace(&self, old: u32, new: u32) -> bool;
    /// Adds, acquire and release; returns the value before.
    fn fetch_add(&self, value: u32) -> u32;
    /// Polls for a moment while the word is `seen`, or lets the processor watch it; may return early.
    fn watch(&self, seen: u32);
    /// Sleeps while the word is `expected`, for `longest` at most, until it is woken by one of `bits` or as `rest`
    /// says; may return early.
    fn sleep(&self, expected: u32, bits: u32, longest: Option<Duration>, rest: Rest);
    /// Wakes the sleepers that share one of `bits`.
    fn wake(&self, bits: u32);
}

/// The bit of a [`wait_once`] word by which its waiter shows that it sleeps.
pub(super) const ASLEEP: u32 = 1;

/// After a poll that found the word to be `seen`, which is not yet enough: polls again, watches it or
/// sleeps, as `strategy` decides. False if that gives up.
#[inline]
pub(super) fn wait_once(word: &impl Word, seen: u32, strategy: &mut impl WaitStrategy) -> bool {
    match strategy.after_idle_poll() {
        Next::Poll => {}
        Next::Watch => word.watch(seen),
        Next::Sleep(rest) => {
            if seen & ASLEEP != 0 || word.replace(seen, seen | ASLEEP) {
                word.sleep(seen | ASLEEP, ANY, strategy.longest_sleep(), rest);
            }
        }
        Next::GiveUp => return false,
    }
    true
}

impl Word for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn swap(&self, value: u32) -> u32 {
        self.swap(value, Ordering::AcqRel)
    }

    #[inline]
    fn replace(&self, old: u32, new: u32) -> bool {
        self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn fetch_add(&self, value: u32) -> u32 {
        self.fetch_add(value, Ordering::AcqRel)
    }

    fn watch(&self, seen: u32) {
        let at = self.as_ptr().cast_const().cast();
        // SAFETY: the word is.
        unsafe { watch(at, &mut || self.load(Ordering::Acquire) == seen) };
    }

    fn sleep(&self, expected: u32, bits: u32, longest: Option<Duration>, rest: Rest) {
        rest.sleep(self, expected, bits, longest);
    }

    fn wake(&self, bits: u32) {
        futex::wake(self, bits);
    }
}

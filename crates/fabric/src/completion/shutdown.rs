//! How a fabric is left by its peers, and its owner goes on.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{PoisonError, RwLock};

/// Whether the fabric is shut down: then no operation begins, and no thread waits for those under way.
///
/// A thread that waits no more leaves memory in which its operations complete. So all that calls the provider does it
/// [`while_open`](Self::while_open), and the fabric is shut down once no thread is there.
#[derive(Default)]
pub(crate) struct Shutdown {
    /// Whether this may be; if not, the owner ends the process.
    survives: bool,
    requested: AtomicBool,
    done: AtomicBool,
    calls: RwLock<()>,
}

impl Shutdown {
    pub(crate) fn new(survives: bool) -> Shutdown {
        Shutdown { survives, ..Shutdown::default() }
    }

    /// The next thread that calls the provider shuts the fabric down.
    pub(crate) fn request(&self) {
        self.requested.store(true, Release);
    }

    /// Whether threads are to give up what they try.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Acquire)
    }

    /// Whether nothing completes any more.
    #[inline]
    pub(crate) fn is_done(&self) -> bool {
        self.done.load(Acquire)
    }

    /// Makes a call that may complete operations, unless the fabric is to be shut down: then nothing is done, in vain.
    /// Not within another.
    #[inline]
    pub(crate) fn while_open<T: Default>(&self, call: impl FnOnce() -> T) -> T {
        match self.survives {
            true => self.call(call),
            false => call(),
        }
    }

    fn call<T: Default>(&self, call: impl FnOnce() -> T) -> T {
        let calls = self.calls.read().unwrap_or_else(PoisonError::into_inner);
        if !self.is_requested() {
            return call();
        }
        drop(calls);
        if !self.is_done() {
            // Threads that come from here on see that it is asked for.
            drop(self.calls.write().unwrap_or_else(PoisonError::into_inner));
            self.done.store(true, Release);
        }
        T::default()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    use super::*;

    #[test]
    fn nothing_completes_after_the_end() {
        let shutdown = Shutdown::new(true);
        let (completed, seen) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !shutdown.is_done() {
                        shutdown.while_open(|| completed.fetch_add(1, Relaxed));
                    }
                    seen.fetch_max(completed.load(Relaxed), Relaxed);
                });
            }
            while completed.load(Relaxed) < 1000 {
                thread::yield_now();
            }
            shutdown.request();
        });
        assert_eq!(shutdown.while_open(|| 7), 0);
        assert_eq!(completed.into_inner(), seen.into_inner());
    }

    #[test]
    fn a_call_may_ask_for_the_end() {
        let shutdown = Shutdown::new(true);
        let asked = shutdown.while_open(|| {
            shutdown.request();
            1
        });
        assert!(asked == 1 && !shutdown.is_done());
        assert_eq!(shutdown.while_open(|| 1), 0);
        assert!(shutdown.is_done());
    }
}

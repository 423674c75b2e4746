//! When the progress thread calls the owner.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use rustix::thread::gettid;

/// The last call, and who makes it.
pub(crate) struct Ticks {
    base: Instant,
    /// Milliseconds from the base.
    last: AtomicU64,
    thread: AtomicI32,
    within: AtomicBool,
}

impl Default for Ticks {
    fn default() -> Ticks {
        let (base, last) = (Instant::now(), AtomicU64::new(0));
        Ticks { base, last, thread: AtomicI32::new(0), within: AtomicBool::new(false) }
    }
}

impl Ticks {
    /// This is the progress thread.
    pub(crate) fn begin(&self) {
        self.thread.store(gettid().as_raw_nonzero().get(), Relaxed);
    }

    fn now(&self) -> u64 {
        self.base.elapsed().as_millis() as u64
    }

    /// A call begins, unless this is within one.
    pub(super) fn enter(&self) -> bool {
        let enters = !self.within.swap(true, Relaxed);
        if enters {
            self.last.store(self.now(), Relaxed);
        }
        enters
    }

    /// It ends.
    pub(super) fn leave(&self) {
        self.within.store(false, Relaxed);
    }

    /// Whether this is the progress thread.
    pub(super) fn are_of_this_thread(&self) -> bool {
        self.thread.load(Relaxed) == gettid().as_raw_nonzero().get()
    }

    /// Time since the last call.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now().saturating_sub(self.last.load(Relaxed)))
    }
}

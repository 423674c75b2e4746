//! When the progress thread calls the owner.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::*};
use std::time::{Duration, Instant};

use rustix::thread::gettid;

use super::shared::Shared;

/// The last call, and who makes it.
pub(crate) struct Ticks {
    base: Instant,
    /// Nanoseconds from the base.
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

    /// Time since the last call.
    pub(crate) fn elapsed(&self) -> Duration {
        self.base.elapsed().saturating_sub(Duration::from_nanos(self.last.load(Relaxed)))
    }
}

impl Shared {
    /// Calls the owner, and looks after suspects, unless that is what called this.
    pub(crate) fn tick(&self) {
        let ticks = &self.ticks;
        if !ticks.within.swap(true, Relaxed) {
            ticks.last.store(ticks.base.elapsed().as_nanos() as u64, Relaxed);
            self.report_suspects();
            self.events.tick();
            ticks.within.store(false, Relaxed);
        }
    }

    /// The same, if it is time, of a thread that waits for room: this may be the progress thread, and what it waits for
    /// may be that the owner says that a PE is lost.
    pub(crate) fn tick_meanwhile(&self) {
        if self.ticks.elapsed() >= self.config.tick
            && self.ticks.thread.load(Relaxed) == gettid().as_raw_nonzero().get()
        {
            self.tick();
        }
    }
}

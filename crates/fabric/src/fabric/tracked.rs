//! Operations that are completed one by one.

use super::Fabric;
use crate::completion::CompletionCounter;
use crate::issue::Direction;
use crate::{AtomicOp, Context, Remote, Tracked};

impl Fabric {
    /// As [`put_nbi`](Self::put_nbi), by a write of its own, which `tracked` counts, too. This has
    /// [begun](Tracked::begin).
    ///
    /// # Safety
    /// As there, and `tracked` lives, until it is complete.
    pub unsafe fn put_tracked(&self, context: &Context, tracked: &Tracked, to: Remote, from: *const u8, len: usize) {
        if !self.is_shut_down() {
            let context = context.counters();
            let peer = self.rma.order(context, to.pe, true);
            let counter = tracked.counter(context, CompletionCounter::context(context, peer, true));
            let transfer = self.transfer(self.rma.issuer(context), Direction::Write, to, from.cast_mut(), len);
            // SAFETY: the caller promises that the source is readable until the write is complete.
            unsafe { transfer.begin_write(counter, true) };
        }
        tracked.issued();
    }

    /// As [`get_nbi`](Self::get_nbi), of what `tracked` counts, too. This has [begun](Tracked::begin).
    ///
    /// # Safety
    /// As there, and `tracked` lives, until it is complete.
    pub unsafe fn get_tracked(&self, context: &Context, tracked: &Tracked, to: *mut u8, from: Remote, len: usize) {
        // SAFETY: the caller promises that `to` is writable until the get is complete.
        unsafe { self.begin_get(context, Some(tracked), to, from, len) };
        tracked.issued();
    }

    /// As [`fetch_nbi`](Self::fetch_nbi), of what `tracked` counts, too. This has [begun](Tracked::begin).
    ///
    /// # Safety
    /// As there, and `tracked` lives, until it is complete.
    pub unsafe fn fetch_tracked(
        &self,
        context: &Context,
        tracked: &Tracked,
        at: Remote,
        atomic: AtomicOp,
        result: *mut u8,
    ) {
        // SAFETY: the caller promises that `result` is writable until the fetch is complete.
        unsafe { self.begin_fetch(context, Some(tracked), at, atomic, result) };
        tracked.issued();
    }

    /// Begins a quiet of a context: a number for [`test_quiet`](Self::test_quiet).
    pub fn begin_quiet(&self, context: &Context) -> u32 {
        let context = context.counters();
        self.rma.drained_issuer(context);
        self.rma.progress.hand_over(context);
        context.end_phase()
    }

    /// Whether all operations are complete that the context had at a [`begin_quiet`](Self::begin_quiet); makes progress
    /// with them.
    pub fn test_quiet(&self, context: &Context, number: u32) -> bool {
        let (counters, progress) = (context.counters(), &self.rma.progress);
        let is_complete = || counters.is_quiet(number) || self.is_shut_down();
        is_complete() || {
            progress.poll_at(self.rma.opened_issuer(counters));
            progress.hand_over(counters);
            is_complete()
        }
    }

    /// Whether an operation is complete; makes progress with it.
    pub fn test_tracked(&self, tracked: &Tracked, number: u32) -> bool {
        let is_complete = || tracked.is_complete(number) || self.is_shut_down();
        is_complete() || {
            let progress = &self.rma.progress;
            progress.poll_at(progress.opened_issuer(tracked.endpoint()));
            is_complete()
        }
    }

    /// Returns when an operation is complete.
    pub fn wait_tracked(&self, tracked: &Tracked, number: u32) {
        let progress = &self.rma.progress;
        progress.wait_at(progress.opened_issuer(tracked.endpoint()), || tracked.is_complete(number));
    }
}

//! Beginning, completing and waiting.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::*;
use std::time::Instant;

use crate::endpoint::{BATCH, Completed, Failure};
use crate::engine::Engine;
use crate::idle::Idle;
use crate::record::Record;
use crate::sys;

/// Operations after which completions are read even if nobody waits.
const HARVEST: usize = 64;

/// What libfabric answers where there is no room.
const NO_ROOM: isize = -(sys::FI_EAGAIN as isize);

impl Engine {
    /// Begins an operation by calling libfabric, again and again where it has no room.
    #[inline]
    pub(crate) fn submit(&self, pe: usize, call: impl Fn() -> isize) {
        // The helper thread is to leave the provider's lock, which is not a fair one.
        self.bell.moved();
        let mut result = NO_ROOM;
        if self.peer(pe).queue.is_empty() {
            result = call();
        }
        if result != 0 {
            self.insist(pe, result, &call);
        }
        let begun = self.begun.load(Relaxed).wrapping_add(1);
        self.begun.store(begun, Relaxed); // may miss some: it only sets a rhythm
        if begun.is_multiple_of(HARVEST) {
            self.reap();
        }
    }

    #[cold]
    fn insist(&self, pe: usize, mut result: isize, call: &dyn Fn() -> isize) {
        let peer = self.peer(pe);
        let number = peer.queue.enter();
        let mut answers = peer.answers.load(Relaxed);
        let mut since = Instant::now();
        let mut idle = Idle::new(self.config.spin);
        while result != 0 {
            if result != NO_ROOM {
                self.lost(pe, &self.endpoint.library.words(result));
            }
            if self.reap() > 0 {
                idle.reset();
            } else {
                idle.pause(&self.bell, &mut || peer.answers.load(Relaxed) != answers);
                let now = peer.answers.load(Relaxed);
                if now != answers {
                    answers = now;
                    since = Instant::now();
                    idle.reset();
                } else if since.elapsed() > self.config.peer_timeout {
                    self.lost(pe, "nothing comes back from it, and nothing can be sent");
                }
            }
            if peer.queue.is_first(number) {
                result = call();
            }
        }
        peer.queue.leave();
    }

    /// Lets the provider work, completes what has completed and answers what is asked; says how
    /// many operations and questions.
    pub(crate) fn reap(&self) -> usize {
        self.bell.moved();
        self.harvest()
    }

    /// As `reap`, for the helper thread.
    pub(crate) fn harvest(&self) -> usize {
        let mut contexts = [ptr::null_mut(); BATCH];
        let mut total = 0;
        loop {
            match self.endpoint.read(&mut contexts) {
                Completed::Some(n) => {
                    for &context in &contexts[..n] {
                        self.complete(context);
                    }
                    total += n;
                    if n < BATCH {
                        break;
                    }
                }
                Completed::Nothing => break,
                Completed::Failed(failure) => self.fail(&failure),
            }
        }
        total + self.attend()
    }

    fn complete(&self, context: *mut c_void) {
        let Some(record) = NonNull::new(context.cast::<Record>()) else {
            return;
        };
        // SAFETY: contexts are records, and this one's operation is complete.
        let (tally, pe) = unsafe {
            Record::finish(record);
            ((*record.as_ptr()).tally, (*record.as_ptr()).pe)
        };
        self.records.give(record);
        if let Some(peer) = self.peers.get(pe as usize) {
            peer.answers.fetch_add(1, Relaxed);
        }
        if let Some((counts, lane, write)) = tally.stream {
            // SAFETY: a stream's counts stay while it has operations under way.
            unsafe { counts.as_ref().end(lane.as_ref(), write) };
        }
        if !tally.waiter.is_null() {
            // SAFETY: whoever waits does so until this is 0; it is not touched afterwards.
            unsafe { (*tally.waiter).fetch_sub(1, Release) };
        }
    }

    #[cold]
    fn fail(&self, failure: &Failure) {
        if self.bell.stopped() {
            return;
        }
        let pe = if failure.context.is_null() {
            self.peers.suspect()
        } else {
            // SAFETY: contexts are records, kept until their operations are complete.
            unsafe { (*failure.context.cast::<Record>()).pe as usize }
        };
        self.lost(pe, &failure.reason)
    }

    /// Lets the provider work once, for a thread that waits.
    pub(crate) fn progress(&self) -> usize {
        self.gathers.flush(self);
        self.reap()
    }

    /// Returns when `done`.
    pub fn wait(&self, mut done: impl FnMut() -> bool) {
        let mut idle = Idle::new(self.config.spin);
        while !done() {
            if self.progress() > 0 {
                idle.reset();
            } else {
                idle.pause(&self.bell, &mut done);
            }
        }
    }
}

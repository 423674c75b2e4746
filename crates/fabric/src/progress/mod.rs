//! What makes progress: threads of the program that wait ([`Progress::wait`]), and the
//! [`ProgressThread`] while they compute.

mod others;
mod thread;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::am::Flush;
use crate::batches::Batches;
use crate::completion::{ContextCounters, Retry, Shared};
use crate::endpoint::Endpoint;
use crate::issue::Issuer;
use crate::libfabric;
use crate::memory::LocalBuffer;
use crate::queue::CompletionQueue;

use others::ContextEndpoints;
pub(crate) use thread::ProgressThread;

/// Issues what is kept, completes what is complete, and waits for it.
pub(crate) struct Progress {
    /// Of the first endpoint, which all operations use whose context has none of its own, and which peers send messages
    /// to.
    pub first: Issuer,
    others: ContextEndpoints,
    /// Held by the thread that polls the first endpoint while it waits for another one.
    polling_first: Mutex<()>,
    /// Polls in vain of threads that wait, about.
    in_vain: AtomicU32,
}

/// Polls in vain after which a thread idles, and hands over what other contexts have gathered: about as long as a
/// message takes there and back, while which more comes together.
const IDLE_POLLS: u32 = 32;

/// What a thread polls while it waits.
#[derive(Clone, Copy)]
enum Polled<'i> {
    /// The first endpoint.
    First,
    /// The first endpoint, without sending requests that are gathered.
    ForRoom,
    /// The endpoint of this issuer and the first.
    Of(&'i Issuer),
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Operations that no thread waited for must not go on in work requests that are freed.
        let stop = |endpoint: &Endpoint| {
            if endpoint.info.mr_mode() & libfabric::FI_MR_ENDPOINT == 0 {
                // SAFETY: the progress thread has ended, and no thread of the program uses the fabric.
                unsafe { endpoint.stop() };
            }
        };
        for issuer in self.others.opened() {
            stop(&issuer.completions.endpoint);
        }
        stop(&self.shared().endpoint);
    }
}

impl Progress {
    /// `endpoints` may be opened beside the first.
    pub(crate) fn new(first: Issuer, endpoints: usize) -> Progress {
        Progress {
            others: ContextEndpoints::new(&first, endpoints),
            first,
            polling_first: Mutex::new(()),
            in_vain: AtomicU32::new(0),
        }
    }

    /// What issues the operations of a context.
    #[inline]
    pub(crate) fn issuer_of(&self, context: &ContextCounters) -> &Issuer {
        match context.endpoint() {
            None => &self.first,
            Some(number) => self.others.get(&self.first, number),
        }
    }

    /// As [`issuer_of`](Self::issuer_of), for operations that were issued before: opens no endpoint.
    #[inline]
    pub(crate) fn opened_issuer_of(&self, context: &ContextCounters) -> &Issuer {
        self.opened_issuer(context.endpoint())
    }

    /// The same of the contexts that were given a number for their own endpoint.
    #[inline]
    pub(crate) fn opened_issuer(&self, endpoint: Option<usize>) -> &Issuer {
        match endpoint {
            None => &self.first,
            Some(number) => self.others.get_opened(&self.first, number),
        }
    }

    #[inline]
    pub(crate) fn completions(&self) -> &CompletionQueue {
        &self.first.completions
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        &self.first.completions.shared
    }

    /// Makes progress once, for a thread that waits; returns how many operations were completed and
    /// active messages served.
    pub(crate) fn poll(&self) -> usize {
        self.first.flush();
        let n = self.completions().poll();
        self.idle(n);
        n
    }

    /// As [`poll`](Self::poll), of what this issuer has issued.
    pub(crate) fn poll_at(&self, issuer: &Issuer) -> usize {
        self.poll_waiting(Polled::Of(issuer))
    }

    /// Hands over what a context has gathered, as far as there is room.
    pub(crate) fn hand_over(&self, context: &ContextCounters) {
        let has_filled = context.batches().is_some_and(Batches::has_filled);
        let shared = self.shared();
        if let Some(am) = self.completions().am.as_ref().filter(|_| has_filled) {
            let hand_over = || am.hand_over(shared, context);
            shared.shutdown.while_open(hand_over);
        }
    }

    /// As [`hand_over`](Self::hand_over), for all contexts.
    #[inline(never)] // once for all ways
    fn hand_over_all(&self) {
        let shared = self.shared();
        if let Some(am) = &self.completions().am {
            shared.shutdown.while_open(|| am.hand_over_all(shared));
        }
    }

    /// A thread that waits has polled the first endpoint, for so many completions and messages: others' batches go when
    /// some were acknowledged, or when it idles.
    fn idle(&self, n: usize) {
        // Two polls may count as one: the count only sets a rhythm.
        let in_vain = self.in_vain.load(Relaxed).wrapping_add(1);
        if n > 0 || in_vain.is_multiple_of(IDLE_POLLS) {
            self.hand_over_all();
        }
        self.in_vain.store(in_vain, Relaxed);
    }

    /// Returns when `done`, or when the fabric is shut down.
    #[inline]
    pub(crate) fn wait(&self, mut done: impl FnMut() -> bool) {
        self.wait_polling(&mut done, Polled::First);
    }

    /// As [`wait`](Self::wait), for what this issuer has issued.
    #[inline]
    pub(crate) fn wait_at(&self, issuer: &Issuer, mut done: impl FnMut() -> bool) {
        self.wait_polling(&mut done, Polled::Of(issuer));
    }

    /// As [`wait`](Self::wait), for room in a message.
    #[inline]
    pub(crate) fn wait_for_room(&self, mut done: impl FnMut() -> bool) {
        self.wait_polling(&mut done, Polled::ForRoom);
    }

    fn wait_polling(&self, done: &mut dyn FnMut() -> bool, polled: Polled<'_>) {
        let shared = self.shared();
        let mut backoff = shared.backoff();
        while !done() && !shared.shutdown.is_done() {
            if self.poll_waiting(polled) > 0 {
                backoff.reset();
            } else if !done() {
                shared.pause(&mut backoff, done);
            }
        }
    }

    /// Threads that wait for another endpoint than the first poll that in turn: acknowledgements of messages come
    /// there, and requests of peers.
    fn poll_waiting(&self, polled: Polled<'_>) -> usize {
        let mut n = 0;
        let mut polling = None;
        match polled {
            Polled::ForRoom => return self.completions().poll_for_room(),
            Polled::Of(issuer) if !issuer.completions.is_first() => {
                issuer.flush();
                n = issuer.completions.poll();
                polling = self.polling_first.try_lock().ok();
                if polling.is_none() {
                    return n;
                }
            }
            Polled::Of(_) | Polled::First => {}
        }
        self.first.flush();
        let served = self.completions().poll_waiting();
        drop(polling);
        self.idle(served);
        n + served
    }

    /// A PE is lost: what is under way to it counts as complete, or does once libfabric says that it has failed.
    pub(crate) fn lose(&self, pe: usize) {
        let shared = self.shared();
        if !shared.lose(pe) {
            return;
        }
        if let Some(am) = &self.completions().am {
            am.messages.lose(pe);
        }
        self.each_queue(|queue| queue.drop_kept(pe));
        shared.event_count.wake();
    }

    /// Completes what libfabric still has of PEs that are lost: for the progress thread, now and then.
    fn abandon_lost(&self) {
        /// Time for the failures of a process that has ended, which arrive at once, while polls read them.
        const FAILURES: Duration = Duration::from_secs(1);

        for pe in (0..).map_while(|i| self.shared().losses.lost_for(FAILURES, i)) {
            self.each_queue(|queue| {
                queue.poll_uncounted(Flush::Replies);
                queue.abandon(pe);
            });
        }
    }

    fn each_queue(&self, f: impl Fn(&CompletionQueue)) {
        f(self.completions());
        self.others.opened().for_each(|issuer| f(&issuer.completions));
    }

    /// A bounce buffer for an operation of this issuer to `pe`.
    pub(crate) fn bounce(&self, issuer: &Issuer, pe: usize) -> LocalBuffer {
        match self.shared().buffers.bounce() {
            Some(buffer) => buffer,
            None => self.wait_for_bounce(issuer, pe),
        }
    }

    #[cold]
    fn wait_for_bounce(&self, issuer: &Issuer, pe: usize) -> LocalBuffer {
        const REASON: &str = "no operation completes, and all buffers are in use";

        let shared = self.shared();
        let mut retry = Retry::new(shared, None, REASON);
        loop {
            let completed = self.poll_waiting(Polled::Of(issuer)) > 0;
            if let Some(buffer) = shared.buffers.bounce() {
                return buffer;
            }
            // libfabric does not get the operation.
            if shared.shutdown.is_done() || shared.is_lost(pe) {
                return LocalBuffer::owned(shared.buffers.bounce_len());
            }
            if completed {
                retry.progressed();
            } else {
                retry.pause(&mut || false);
            }
        }
    }
}

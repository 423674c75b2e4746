//! Reading completions.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

use crate::am::{AmEndpoint, Flush};
use crate::completion::{CompletionCounter, Shared, WorkRequest, WorkRequests};
use crate::endpoint::{BATCH, Completed, Endpoint, Failure, Injected};
use crate::lock::lock;

/// Completes the operations of an endpoint whenever a thread polls it; that of the first endpoint also serves the
/// active messages of peers.
pub(crate) struct CompletionQueue {
    requests: WorkRequests,
    /// None: the first endpoint has it, or none of the fabric's.
    pub am: Option<AmEndpoint>,
    pub endpoint: Arc<Endpoint>,
    pub shared: Arc<Shared>,
    /// Counts polls of the program's threads, about; the first endpoint's are counted by
    /// [`EventCount`](crate::event_count::EventCount).
    polls: AtomicUsize,
    /// Work requests that are in use.
    in_use: AtomicUsize,
    /// Those of operations to suspects, which libfabric does not have.
    kept: Mutex<Vec<NonNull<WorkRequest>>>,
}

// SAFETY: no other thread refers to requests that are kept.
unsafe impl Send for CompletionQueue {}
// SAFETY: as above.
unsafe impl Sync for CompletionQueue {}

impl CompletionQueue {
    pub(crate) fn new(endpoint: Arc<Endpoint>, shared: Arc<Shared>, am: Option<AmEndpoint>) -> CompletionQueue {
        CompletionQueue {
            requests: WorkRequests::default(),
            am,
            endpoint,
            shared,
            polls: AtomicUsize::new(0),
            in_use: AtomicUsize::new(0),
            kept: Mutex::default(),
        }
    }

    /// Takes the locks of the work requests.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        self.requests.hold()
    }

    #[inline]
    pub(crate) fn is_first(&self) -> bool {
        Arc::ptr_eq(&self.endpoint, &self.shared.endpoint)
    }

    /// A thread of the program polls: the progress thread is to leave the endpoint to it.
    #[inline]
    pub(crate) fn count_poll(&self) {
        if self.is_first() {
            self.shared.event_count.count_poll();
        } else {
            // Two threads may count as one, as there.
            let polls = self.polls.load(Relaxed).wrapping_add(1);
            self.polls.store(polls, Relaxed);
        }
    }

    /// Polls of this endpoint, which is not the first, about.
    pub(crate) fn polls(&self) -> usize {
        self.polls.load(Relaxed)
    }

    /// Whether operations are under way, or kept.
    pub(crate) fn is_busy(&self) -> bool {
        self.in_use.load(Relaxed) != 0
    }

    /// A work request for an operation that is about to begin, which its counter counts.
    #[inline]
    pub(crate) fn request(&self, pe: usize, counter: CompletionCounter) -> NonNull<WorkRequest> {
        let is_tolerated = self.shared.losses.are_tolerated();
        let request = match self.requests.take(&self.shared.buffers, pe, counter, is_tolerated) {
            Ok(request) => request,
            Err(error) => self.shared.give_up(pe, &error.to_string()),
        };
        self.in_use.fetch_add(1, Relaxed);
        if let Some(peer) = self.shared.peers.get(pe) {
            peer.issued.fetch_add(1, Relaxed);
        }
        request
    }

    /// Lets the provider progress, completes the operations that are complete and serves active
    /// messages; returns how many operations and messages. For a thread of the program that may have answers to send.
    pub(crate) fn poll(&self) -> usize {
        self.count_poll();
        self.poll_uncounted(Flush::Prompt)
    }

    /// As [`poll`](Self::poll), for one that waits and sends no answer before.
    pub(crate) fn poll_waiting(&self) -> usize {
        self.count_poll();
        self.poll_uncounted(Flush::All)
    }

    /// As [`poll`](Self::poll), for a thread that has filled a message: those to other PEs are filled
    /// further.
    pub(crate) fn poll_for_room(&self) -> usize {
        self.count_poll();
        self.poll_uncounted(Flush::Replies)
    }

    /// As [`poll`](Self::poll), for the progress thread.
    pub(crate) fn poll_uncounted(&self, flush: Flush) -> usize {
        self.shared.shutdown.while_open(|| self.read(flush))
    }

    fn read(&self, flush: Flush) -> usize {
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
                Completed::Failed(failure) => {
                    self.fail(&failure);
                    if failure.context.is_null() {
                        break;
                    }
                }
            }
        }
        total + self.serve_messages(flush)
    }

    /// Sends what has been pending for a while, whatever threads of the program do.
    pub(crate) fn flush(&self) {
        let am = self.am.as_ref();
        if am.is_some_and(|m| m.messages.has_unsent() || m.messages.has_deferred()) {
            self.serve(Flush::All);
        }
    }

    /// Serves active messages, and sends what is pending of them; returns how many were or are to be served.
    pub(crate) fn serve(&self, flush: Flush) -> usize {
        self.shared.shutdown.while_open(|| self.serve_messages(flush))
    }

    #[inline]
    fn serve_messages(&self, flush: Flush) -> usize {
        match &self.am {
            Some(am) => am.progress(&self.shared, flush),
            None => 0,
        }
    }

    /// Whether the progress thread may sleep for long.
    pub(crate) fn may_rest(&self) -> bool {
        let am = self.am.as_ref();
        am.is_none_or(|am| am.messages.may_rest())
    }

    fn complete(&self, context: *mut c_void) {
        if Injected::of(context).is_some() {
            return;
        }
        if let Some(received) = self.endpoint.received(context) {
            if let Some(am) = &self.am {
                am.received(&self.shared, received);
            }
            return;
        }
        if let (Some(sent), Some(am)) = (self.endpoint.sent(context), &self.am) {
            am.sends.give_back(sent);
            return;
        }
        let Some(request) = NonNull::new(context.cast::<WorkRequest>()) else {
            return;
        };
        self.end(request, true);
    }

    /// An operation is over.
    pub(crate) fn end(&self, request: NonNull<WorkRequest>, succeeded: bool) {
        // SAFETY: contexts are work requests, and the operation of this one is complete.
        let (counter, pe) = unsafe { (WorkRequest::finish(request, succeeded), (*request.as_ptr()).pe) };
        if counter.is_none() {
            self.requests.after_abandoning();
        }
        self.requests.give_back(request);
        self.in_use.fetch_sub(1, Relaxed);
        if let Some(peer) = self.shared.peers.get(pe as usize) {
            match succeeded {
                true => peer.completed.fetch_add(1, Relaxed),
                false => peer.issued.fetch_sub(1, Relaxed),
            };
        }
        if let Some(counter) = counter {
            // SAFETY: the operation began with this counter, and its completion is read once.
            unsafe { counter.end() };
        }
    }

    #[cold]
    fn fail(&self, failure: &Failure) {
        if self.shared.event_count.stopped() {
            return;
        }
        let sent = self.endpoint.sent(failure.context).zip(self.am.as_ref());
        let sent = sent.and_then(|(sent, am)| am.sends.give_back(sent));
        let mut request = None;
        let pe = if let Some(injected) = Injected::of(failure.context).or(sent) {
            if !injected.awaited {
                // No thread waits for it: the PE may have left in order.
                return;
            }
            Some(injected.pe)
        } else if let Some(received) = self.endpoint.received(failure.context) {
            if let Some(am) = &self.am {
                am.receive_again(&self.shared, received);
            }
            None
        } else {
            request = NonNull::new(failure.context.cast::<WorkRequest>());
            // SAFETY: contexts are work requests, which stay until their operations are complete.
            request.map(|request| unsafe { (*request.as_ptr()).pe as usize })
        };
        self.shared.peer_failed(pe, &failure.reason);
        if let Some(request) = request {
            self.keep(request);
        }
    }

    /// What becomes of an operation that libfabric does not have, as its PE is not well.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep(&self, request: NonNull<WorkRequest>) {
        lock(&self.kept).push(request);
        // SAFETY: as above.
        let pe = unsafe { (*request.as_ptr()).pe } as usize;
        if self.shared.is_lost(pe) {
            self.drop_kept(pe);
        }
    }

    /// Operations to a lost PE that are kept count as complete.
    #[inline(never)]
    pub(crate) fn drop_kept(&self, pe: usize) {
        // SAFETY: as above.
        let is_to_it = |request: &NonNull<WorkRequest>| unsafe { (*request.as_ptr()).pe as usize == pe };
        let take = || {
            let mut kept = lock(&self.kept);
            let at = kept.iter().position(is_to_it)?;
            Some(kept.swap_remove(at))
        };
        while let Some(request) = take() {
            self.end(request, false);
        }
    }

    /// Completes what libfabric may keep for ever, to a PE that was lost a while ago.
    pub(crate) fn abandon(&self, pe: usize) {
        self.shared.buffers.lose_bounce(self.requests.abandon(pe));
        if let Some(am) = &self.am {
            am.sends.abandon(pe);
        }
    }
}

//! Reading completions.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering::*;

use super::request::{CompletionCounter, WorkRequest, WorkRequests};
use super::shared::Shared;
use crate::am::{Flush, Messenger};
use crate::endpoint::{BATCH, Completed, Failure, Injected, Received, Sent};

/// Completes operations, and serves the active messages of peers, whenever a thread polls it.
pub(crate) struct CompletionQueue {
    requests: WorkRequests,
    pub messenger: Option<Messenger>,
    pub shared: Arc<Shared>,
}

impl CompletionQueue {
    pub(crate) fn new(shared: Arc<Shared>, messenger: Option<Messenger>) -> CompletionQueue {
        CompletionQueue {
            requests: WorkRequests::default(),
            messenger,
            shared,
        }
    }

    /// A work request for an operation that is about to begin, which its counter counts.
    #[inline]
    pub(crate) fn request(&self, pe: usize, counter: CompletionCounter) -> NonNull<WorkRequest> {
        let request = match self.requests.take(&self.shared.buffers, pe, counter) {
            Ok(request) => request,
            Err(error) => self.shared.give_up(pe, &error.to_string()),
        };
        if let Some(peer) = self.shared.peers.get(pe) {
            peer.issued.fetch_add(1, Relaxed);
        }
        request
    }

    /// Lets the provider progress, completes the operations that are complete and serves active
    /// messages; returns how many operations and messages. For a thread of the program that may have answers to send.
    pub(crate) fn poll(&self) -> usize {
        self.shared.event_count.count_poll();
        self.poll_uncounted(Flush::Prompt)
    }

    /// As [`poll`](Self::poll), for one that waits and sends no answer before.
    pub(crate) fn poll_waiting(&self) -> usize {
        self.shared.event_count.count_poll();
        self.poll_uncounted(Flush::All)
    }

    /// As [`poll`](Self::poll), for a thread that has filled a message: those to other PEs are filled
    /// further.
    pub(crate) fn poll_for_room(&self) -> usize {
        self.shared.event_count.count_poll();
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
            match self.shared.endpoint.read(&mut contexts) {
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
        total + self.serve_messages(flush)
    }

    /// Sends what has been pending for a while, whatever threads of the program do.
    pub(crate) fn flush(&self) {
        let messenger = self.messenger.as_ref();
        if messenger.is_some_and(|m| m.messages.has_unsent() || m.messages.has_deferred()) {
            self.serve(Flush::All);
        }
    }

    /// Serves active messages, and sends what is pending of them; returns how many were or are to be served.
    pub(crate) fn serve(&self, flush: Flush) -> usize {
        self.shared
            .shutdown
            .while_open(|| self.serve_messages(flush))
    }

    #[inline]
    fn serve_messages(&self, flush: Flush) -> usize {
        match &self.messenger {
            Some(messenger) => messenger.progress(&self.shared, flush),
            None => 0,
        }
    }

    /// Whether the progress thread may sleep for long.
    pub(crate) fn may_rest(&self) -> bool {
        let messenger = self.messenger.as_ref();
        messenger.is_none_or(|messenger| messenger.messages.may_rest())
    }

    fn complete(&self, context: *mut c_void) {
        if Injected::of(context).is_some() {
            return;
        }
        if let Some(received) = Received::of(context) {
            if let Some(messenger) = &self.messenger {
                messenger.received(&self.shared, received);
            }
            return;
        }
        if let (Some(sent), Some(messenger)) = (Sent::of(context), &self.messenger) {
            return messenger.sends.give_back(sent);
        }
        let Some(request) = NonNull::new(context.cast::<WorkRequest>()) else {
            return;
        };
        // SAFETY: contexts are work requests, and the operation of this one is complete.
        let (counter, pe) = unsafe {
            WorkRequest::finish(request);
            ((*request.as_ptr()).counter, (*request.as_ptr()).pe)
        };
        self.requests.give_back(request);
        if let Some(peer) = self.shared.peers.get(pe as usize) {
            peer.completed.fetch_add(1, Relaxed);
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
        let sent = Sent::of(failure.context).zip(self.messenger.as_ref());
        let sent = sent.map(|(sent, messenger)| messenger.sends.target(sent));
        let pe = if let Some(injected) = Injected::of(failure.context).or(sent) {
            if !injected.awaited {
                // No thread waits for it: the PE may have left in order.
                return;
            }
            injected.pe
        } else if failure.context.is_null() || Received::of(failure.context).is_some() {
            self.shared.peers.suspect()
        } else {
            // SAFETY: contexts are work requests, which stay until their operations are complete.
            unsafe { (*failure.context.cast::<WorkRequest>()).pe as usize }
        };
        self.shared.peer_failed(pe, &failure.reason);
    }
}

//! Making a request of a peer.

use std::ptr;

use super::channel::Awaited;
use super::receive::Messenger;
use super::request::{Reply, Request};
use crate::Remote;
use crate::TaggedMessage;
use crate::completion::{CompletionCounter, Pending};
use crate::progress::Progress;
use crate::rma::Rma;

/// A request that is about to be made.
pub(crate) struct Requester<'a> {
    progress: &'a Progress,
    messenger: &'a Messenger,
    at: Remote,
    request: Request,
}

impl<'a> Requester<'a> {
    /// None: libfabric is to do it.
    pub(crate) fn new(rma: &'a Rma, at: Remote, request: Request) -> Option<Requester<'a>> {
        let progress: &Progress = &rma.progress;
        let messenger = progress.completions().messenger.as_ref()?;
        let len = request.len();
        let is_aligned = matches!(request, Request::Read(_)) || at.offset.is_multiple_of(len);
        if !(1..=Request::LONGEST).contains(&len) || !is_aligned {
            return None;
        }
        (rma.resolve(at).usable >= len).then_some(Requester {
            progress,
            messenger,
            at,
            request,
        })
    }

    fn parts(&self) -> (Request, usize, usize) {
        (self.request, self.at.segment, self.at.offset)
    }

    /// Makes the request; the counter counts it, and the result goes to `result` until it is complete.
    ///
    /// # Safety
    /// `result` is writable, as long as the request's result, until the request is complete.
    pub(crate) unsafe fn begin(&self, counter: CompletionCounter, result: *mut u8) {
        counter.begin();
        self.append(Awaited { counter, result }, false);
    }

    /// Appends the request to a message, as soon as there is room.
    fn append(&self, awaited: Awaited, now: bool) {
        let (shared, messages) = (self.progress.shared(), &self.messenger.messages);
        let port = self.messenger.port(shared);
        let mut is_appended = false;
        self.progress.wait(|| {
            // Once, however often it is asked.
            is_appended = is_appended || {
                let appended = messages.request(&port, self.at.pe, self.parts(), awaited, now);
                shared.heed(appended)
            };
            is_appended
        });
    }

    /// Makes the request and returns its result.
    pub(crate) fn call(&self) -> Reply {
        let (shared, messages) = (self.progress.shared(), &self.messenger.messages);
        let port = self.messenger.port(shared);
        let pe = self.at.pe;
        let written = shared.heed(messages.request_by_slot(&port, pe, self.parts()));
        let mut reply = [0; TaggedMessage::BYTES];
        if let Some((tag, sequence)) = written {
            self.progress.wait(|| {
                let arrived = messages.slots.reply(pe, tag);
                arrived.is_some_and(|arrived| {
                    reply = arrived;
                    true
                })
            });
            shared.heed(messages.replied(&port, pe, sequence));
            return reply;
        }
        let pending = Pending::default();
        let counter = pending.counter();
        let result = (&raw mut reply).cast();
        counter.begin();
        self.append(Awaited { counter, result }, true);
        self.progress.wait(|| pending.is_complete());
        // SAFETY: the result was written through a pointer.
        unsafe { ptr::read_volatile(&raw const reply) }
    }
}

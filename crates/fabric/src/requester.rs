//! Making a request of a peer.

use std::ptr;

use crate::Remote;
use crate::TaggedMessage;
use crate::am::channel::{MessageItem, PendingResult};
use crate::am::messages::Urgency;
use crate::am::receive::AmEndpoint;
use crate::completion::{Aggregation, CompletionCounter, ContextCounters, PeerCounters, Pending};
use crate::encoding::batch::BatchItem;
use crate::encoding::request::{LONGEST_PUT, Reply, Request, SegmentAddress, is_within_reach};
use crate::progress::Progress;
use crate::rma::Rma;

/// A request that is about to be made.
pub(crate) struct Requester<'a> {
    progress: &'a Progress,
    am: &'a AmEndpoint,
    context: &'a ContextCounters,
    at: Remote,
    request: Request,
}

impl<'a> Requester<'a> {
    /// None: libfabric is to do it.
    pub(crate) fn new(
        rma: &'a Rma,
        context: &'a ContextCounters,
        at: Remote,
        request: Request,
    ) -> Option<Requester<'a>> {
        let progress: &Progress = &rma.progress;
        let am = progress.completions().am.as_ref()?;
        if !am.serves_memory() {
            return None;
        }
        let len = request.len();
        let is_aligned = matches!(request, Request::Read(_)) || at.offset.is_multiple_of(len);
        let is_in_reach = is_within_reach((at.segment, at.offset), len);
        if !(1..=Request::LONGEST).contains(&len) || !is_aligned || !is_in_reach {
            return None;
        }
        (rma.resolve(at).usable >= len).then_some(Requester { progress, am, context, at, request })
    }

    fn place(&self) -> SegmentAddress {
        (self.at.segment, self.at.offset)
    }

    /// Makes the request, which has no result, for the context.
    pub(crate) fn post(&self, peer: &PeerCounters) {
        if self.context.has_own_batches() && self.am.longest_put > 0 {
            let item = (BatchItem::Post(self.request), self.place());
            let by = (self.context, peer);
            return gather(self.progress, self.am, self.at.pe, item, by, Urgency::Usual);
        }
        let counter = CompletionCounter::context(self.context, peer, false);
        // SAFETY: there is no result.
        unsafe { self.begin(counter, ptr::null_mut()) };
    }

    /// What the context has gathered for the PE is executed before the request.
    #[inline(never)] // once for all routines
    fn hand_over(&self) {
        let (shared, pe) = (self.progress.shared(), self.at.pe);
        if self.context.batches().is_none() {
            return;
        }
        let port = self.am.port(shared);
        let messages = &self.am.messages;
        retry_until_room(self.progress, || shared.value_or_fail(messages.hand_over(&port, pe, self.context)));
    }

    /// Makes the request; the counter counts it, and the result goes to `result` until it is complete.
    ///
    /// # Safety
    /// `result` is writable, as long as the request's result, until the request is complete.
    pub(crate) unsafe fn begin(&self, counter: CompletionCounter, result: *mut u8) {
        self.hand_over();
        let awaited = PendingResult { counter, result };
        let urgency = if self.am.longest_put == 0 { Urgency::Now } else { Urgency::Usual };
        self.append(awaited, urgency);
    }

    fn append(&self, awaited: PendingResult, urgency: Urgency) {
        let item = (MessageItem::Request(self.request), self.place());
        append(self.progress, self.am, self.at.pe, item, awaited, urgency);
    }

    /// Makes the request and returns its result.
    pub(crate) fn call(&self) -> Reply {
        self.hand_over();
        let (shared, messages) = (self.progress.shared(), &self.am.messages);
        let port = self.am.port(shared);
        let pe = self.at.pe;
        let shutdown = &shared.shutdown;
        let request = (self.request, self.place());
        let written = shutdown.while_open(|| shared.value_or_fail(messages.request_by_slot(&port, pe, request)));
        let mut reply = [0; TaggedMessage::BYTES];
        if let Some((tag, sequence)) = written {
            self.progress.wait(|| {
                let arrived = messages.slots.reply(pe, tag);
                let is_here = arrived.is_some_and(|arrived| {
                    reply = arrived;
                    true
                });
                is_here || shared.is_lost(pe)
            });
            shutdown.while_open(|| shared.value_or_fail(messages.replied(&port, pe, sequence)));
            return reply;
        }
        let pending = Pending::default();
        let counter = pending.counter();
        let result = (&raw mut reply).cast();
        self.append(PendingResult { counter, result }, Urgency::Now);
        self.progress.wait(|| pending.is_complete());
        // SAFETY: the result was written through a pointer.
        unsafe { ptr::read_volatile(&raw const reply) }
    }
}

/// A put of few bytes that is about to be made.
pub(crate) struct Put<'a> {
    pub rma: &'a Rma,
    pub context: &'a ContextCounters,
    pub to: Remote,
    /// An update of a signal of the same PE follows.
    pub is_signalled: bool,
}

impl Put<'_> {
    /// Appends it to a message. False: a write is better, or has to be.
    ///
    /// A single put is a write, which is complete sooner. So are the first that a fence puts after writes under
    /// way, as those are in order; a message has to wait for these.
    ///
    /// # Safety
    /// The source is readable for `len` bytes.
    #[inline]
    pub(crate) unsafe fn begin(&self, from: *const u8, len: usize) -> bool {
        let (context, Remote { pe, .. }) = (self.context, self.to);
        let progress: &Progress = &self.rma.progress;
        let Some(am) = &progress.completions().am else {
            return false;
        };
        let aggregation = context.aggregation();
        // A signal goes in a message anyway, and with it what has room there: one operation less.
        let longest = if self.is_signalled { am.longest_signalled_put } else { am.longest_put };
        if len > longest || aggregation == Aggregation::Off {
            return false;
        }
        let peer = self.rma.peer_counters(context, pe);
        let fences = context.fences();
        let Remote { segment, offset, .. } = self.to;
        if !is_within_reach((segment, offset + len), len.min(LONGEST_PUT)) {
            return false;
        }
        if peer.in_flight() == 0 {
            context.caught_up(peer, fences);
            if aggregation == Aggregation::On && !self.is_signalled {
                return false;
            }
        } else if !peer.no_writes() && context.has_fence_for(peer) {
            if peer.may_write_on() {
                return false;
            }
            self.rma.await_writes(context, peer);
        }
        let urgency = if self.is_signalled { Urgency::BatchItem } else { Urgency::Usual };
        // SAFETY: the caller promises that the source is readable.
        let data = unsafe { std::slice::from_raw_parts(from, len) };
        for (part, data) in data.chunks(LONGEST_PUT).enumerate() {
            let place = (segment, offset + part * LONGEST_PUT);
            if context.has_own_batches() {
                gather(progress, am, pe, (BatchItem::Put(data), place), (context, peer), urgency);
                continue;
            }
            let counter = CompletionCounter::context(context, peer, false);
            let awaited = PendingResult { counter, result: ptr::null_mut() };
            append(progress, am, pe, (MessageItem::Put(data), place), awaited, urgency);
        }
        true
    }
}

/// Appends a record, of two parts, to a message for the PE, which the context counts. False: there is no room now.
pub(crate) fn append_record(rma: &Rma, context: &ContextCounters, pe: usize, parts: [&[u8]; 2]) -> bool {
    let progress: &Progress = &rma.progress;
    let Some(am) = &progress.completions().am else {
        return false;
    };
    let shared = progress.shared();
    let port = am.port(shared);
    let awaited = PendingResult {
        counter: CompletionCounter::context(context, rma.peer_counters(context, pe), false),
        result: ptr::null_mut(),
    };
    let item = (MessageItem::Record(parts), (0, 0));
    let messages = &am.messages;
    let attempt = || {
        shared.shutdown.while_open(|| {
            shared.value_or_fail(messages.hand_over(&port, pe, context))
                && shared.value_or_fail(messages.append(&port, pe, item, awaited, Urgency::Usual))
        })
    };
    attempt() || {
        progress.completions().poll_for_room();
        attempt()
    }
}

/// Appends to a message for the PE, as soon as there is room.
#[inline(never)] // once for all routines
fn append(
    progress: &Progress,
    am: &AmEndpoint,
    pe: usize,
    item: (MessageItem<'_>, SegmentAddress),
    awaited: PendingResult,
    urgency: Urgency,
) {
    let (shared, messages) = (progress.shared(), &am.messages);
    let port = am.port(shared);
    retry_until_room(progress, || shared.value_or_fail(messages.append(&port, pe, item, awaited, urgency)));
}

/// Adds an item to what the context gathers for the PE, as soon as there is room.
#[inline(never)] // once for all routines
fn gather(
    progress: &Progress,
    am: &AmEndpoint,
    pe: usize,
    item: (BatchItem<'_>, SegmentAddress),
    by: (&ContextCounters, &PeerCounters),
    urgency: Urgency,
) {
    let (shared, messages) = (progress.shared(), &am.messages);
    let port = am.port(shared);
    retry_until_room(progress, || shared.value_or_fail(messages.gather(&port, pe, item, by, urgency)));
}

/// Calls `attempt`, which calls the provider, until it succeeds.
fn retry_until_room(progress: &Progress, attempt: impl Fn() -> bool) {
    let shutdown = &progress.shared().shutdown;
    let attempt = || shutdown.while_open(&attempt);
    let mut is_done = attempt();
    if !is_done {
        // Its peers have acknowledged messages, and sent some: a thread that only puts looks here.
        progress.completions().poll_for_room();
        progress.wait_for_room(|| {
            // Once, however often it is asked.
            is_done = is_done || attempt();
            is_done
        });
    }
}

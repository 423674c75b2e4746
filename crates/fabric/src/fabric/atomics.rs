//! Atomic operations.

use super::Fabric;
use crate::completion::{CompletionCounter, ContextCounters};
use crate::encoding::request::{Request, Short};
use crate::requester::Requester;
use crate::rma::AtomicTransfer;
use crate::{AtomicOp, Context, Remote, Tracked};

impl Fabric {
    fn atomic(&self, at: Remote, atomic: AtomicOp) -> AtomicTransfer<'_> {
        AtomicTransfer { rma: &self.rma, at, atomic }
    }

    /// An atomic operation without result: [`Op::Write`](crate::Op::Write), `Add`, `And`, `Or` or
    /// `Xor`. Complete at quiet.
    #[inline]
    pub fn post(&self, context: &Context, at: Remote, atomic: AtomicOp) {
        let context = context.counters();
        let is_aligned = at.offset.is_multiple_of(atomic.width.bytes());
        if !(is_aligned && self.append(context, at, |place| Short::request(Request::Post(atomic), place))) {
            self.request(context, at, atomic);
        }
    }

    /// As [`post`](Self::post), by a message, or an operation of libfabric's.
    #[inline(never)] // once for all routines
    fn request(&self, context: &ContextCounters, at: Remote, atomic: AtomicOp) {
        if self.is_shut_down() {
            return;
        }
        if let Some(requester) = Requester::new(&self.rma, context, at, Request::Post(atomic)) {
            let peer = self.rma.order_request(context, at.pe);
            return requester.post(peer);
        }
        self.atomic(at, atomic).post(context);
    }

    /// An atomic operation that returns what the word was before.
    #[inline(never)] // once for all routines
    pub fn fetch(&self, context: &Context, at: Remote, atomic: AtomicOp) -> u64 {
        if self.is_shut_down() {
            return 0;
        }
        let context = context.counters();
        if let Some(requester) = Requester::new(&self.rma, context, at, Request::Fetch(atomic)) {
            self.rma.order_request(context, at.pe);
            let reply = requester.call();
            return u64::from_ne_bytes(*reply.first_chunk().expect("more than a word"));
        }
        self.rma.order(context, at.pe, false);
        self.atomic(at, atomic).fetch(context)
    }

    /// As [`fetch`](Self::fetch); what the word was is at `result`, 4 or 8 bytes by its width,
    /// after quiet.
    ///
    /// # Safety
    /// The result is writable until quiet.
    #[inline(never)] // once for all routines
    pub unsafe fn fetch_nbi(&self, context: &Context, at: Remote, atomic: AtomicOp, result: *mut u8) {
        // SAFETY: the caller promises that `result` is writable until quiet.
        unsafe { self.begin_fetch(context, None, at, atomic, result) };
    }

    /// # Safety
    /// As for [`fetch_nbi`](Self::fetch_nbi).
    #[inline]
    pub(super) unsafe fn begin_fetch(
        &self,
        context: &Context,
        tracked: Option<&Tracked>,
        at: Remote,
        atomic: AtomicOp,
        result: *mut u8,
    ) {
        if self.is_shut_down() {
            return;
        }
        let context = context.counters();
        let counter = |peer| {
            let counter = CompletionCounter::context(context, peer, false);
            tracked.map_or(counter, |tracked| tracked.counter(context, counter))
        };
        if let Some(requester) = Requester::new(&self.rma, context, at, Request::Fetch(atomic)) {
            let peer = self.rma.order_request(context, at.pe);
            // SAFETY: the caller promises that the result is writable until quiet.
            return unsafe { requester.begin(counter(peer), result) };
        }
        let peer = self.rma.order(context, at.pe, false);
        // SAFETY: as above.
        unsafe { self.atomic(at, atomic).begin(self.rma.issuer(context), counter(peer), result) };
    }
}

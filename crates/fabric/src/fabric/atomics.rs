//! Atomic operations on remote words.

use std::ptr::NonNull;

use super::Fabric;
use crate::address::RmaIov;
use crate::completion::{CompletionCounter, ContextCounters, CopyOut, Pending, WorkRequest};
use crate::encoding::request::{Request, Short};
use crate::issue::Issuer;
use crate::memory::LocalBuffer;
use crate::requester::Requester;
use crate::rma::Rma;
use crate::{AtomicOp, Context, Op, Remote, Tracked, Width, libfabric};

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

/// Bytes from the start of a work request's data to the words of an operation.
const OPERAND: usize = 0;
const COMPARE: usize = 8;
const RESULT: usize = 16;

/// An atomic operation that libfabric executes.
struct AtomicTransfer<'a> {
    rma: &'a Rma,
    at: Remote,
    atomic: AtomicOp,
}

impl Width {
    fn datatype(self) -> libfabric::fi_datatype {
        match self {
            Width::W32 => libfabric::FI_UINT32,
            Width::W64 => libfabric::FI_UINT64,
        }
    }
}

impl Op {
    fn number(self) -> libfabric::fi_op {
        match self {
            Op::Write | Op::Swap => libfabric::FI_ATOMIC_WRITE,
            Op::Read => libfabric::FI_ATOMIC_READ,
            Op::CompareSwap => libfabric::FI_CSWAP,
            Op::Add => libfabric::FI_SUM,
            Op::And => libfabric::FI_BAND,
            Op::Or => libfabric::FI_BOR,
            Op::Xor => libfabric::FI_BXOR,
        }
    }
}

impl AtomicTransfer<'_> {
    /// Begins an operation without a result.
    fn post(&self, context: &ContextCounters) {
        let AtomicOp { op, width, .. } = self.atomic;
        assert!(!matches!(op, Op::Read | Op::Swap | Op::CompareSwap), "{op:?} is an operation with a result");
        let pe = self.at.pe;
        let peer = self.rma.order(context, pe, false);
        let counter = CompletionCounter::context(context, peer, false);
        let issuer = self.rma.issuer(context);
        let (request, local) = self.request(issuer, counter);
        let iov = self.rma.resolve(self.at);
        let (ep, peer) = (issuer.completions.endpoint.ep, issuer.address(pe));
        // SAFETY: the operand lies in the request, which lives until the operation is complete.
        issuer.submit(pe, Some(request), &|| unsafe {
            libfabric::fi_atomic(
                ep,
                local.base.add(OPERAND).cast(),
                local.desc,
                peer,
                iov.address,
                iov.key,
                width.datatype(),
                op.number(),
                WorkRequest::context(request),
            )
        });
    }

    /// Performs the operation and returns what the word was before.
    fn fetch(&self, context: &ContextCounters) -> u64 {
        let issuer = self.rma.issuer(context);
        let pending = Pending::default();
        let mut word = 0u64;
        // SAFETY: the word lives until the operation is complete, which the next line waits for.
        unsafe { self.begin(issuer, pending.counter(), (&raw mut word).cast()) };
        self.rma.progress.wait_at(issuer, || pending.is_complete());
        // A 32-bit result is the lower half on the little-endian machines that this runs on.
        // SAFETY: the word was written through a pointer.
        unsafe { (&raw const word).read_volatile() }
    }

    /// Begins the operation; the word before goes to `result`.
    ///
    /// # Safety
    /// The result is writable, for as many bytes as the word has, until the operation is complete.
    unsafe fn begin(&self, issuer: &Issuer, counter: CompletionCounter, result: *mut u8) {
        let (Remote { pe, .. }, AtomicOp { op, width, .. }) = (self.at, self.atomic);
        let (request, local) = self.request(issuer, counter);
        let RmaIov { address, key, .. } = self.rma.resolve(self.at);
        let ep = issuer.completions.endpoint.ep;
        let (peer, desc) = (issuer.address(pe), local.desc);
        let (datatype, number) = (width.datatype(), op.number());
        let context = WorkRequest::context(request);
        // SAFETY: the words lie in the request, which lives until the operation is complete. This
        // thread alone has the request until it begins. The caller promises that the result is
        // writable.
        unsafe {
            let (operand, compare) = (local.base.add(OPERAND), local.base.add(COMPARE));
            let (operand, compare) = (operand.cast(), compare.cast());
            let word = local.base.add(RESULT);
            let copy_out = CopyOut::contiguous(word, result, width.bytes());
            (*request.as_ptr()).copy_out = Some(copy_out);
            let word = word.cast();
            issuer.submit(pe, Some(request), &|| match op {
                Op::CompareSwap => libfabric::fi_compare_atomic(
                    ep, operand, compare, word, desc, peer, address, key, datatype, number, context,
                ),
                _ => libfabric::fi_fetch_atomic(ep, operand, word, desc, peer, address, key, datatype, number, context),
            });
        }
    }

    /// A work request with operand and compare value in its data.
    fn request(&self, issuer: &Issuer, counter: CompletionCounter) -> (NonNull<WorkRequest>, LocalBuffer) {
        let request = issuer.completions.request(self.at.pe, counter);
        let local = WorkRequest::inline(request);
        // SAFETY: there is room for all three words; the data is aligned to 64 bytes. The lower half
        // comes first, so this is right for both widths.
        unsafe {
            let (operand, compare) = (local.base.add(OPERAND), local.base.add(COMPARE));
            operand.cast::<u64>().write(self.atomic.operand);
            compare.cast::<u64>().write(self.atomic.compare);
        }
        (request, local)
    }
}

//! Atomic operations on remote words.

use std::ptr::NonNull;

use super::Rma;
use crate::address::RmaIov;
use crate::completion::{CompletionCounter, ContextCounters, CopyOut, Pending, WorkRequest};
use crate::issue::Issuer;
use crate::memory::LocalBuffer;
use crate::{AtomicOp, Op, Remote, Width, libfabric};

/// Bytes from the start of a work request's data to the words of an operation.
const OPERAND: usize = 0;
const COMPARE: usize = 8;
const RESULT: usize = 16;

/// An atomic operation that libfabric executes.
pub(crate) struct AtomicTransfer<'a> {
    pub rma: &'a Rma,
    pub at: Remote,
    pub atomic: AtomicOp,
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
    pub(crate) fn post(&self, context: &ContextCounters) {
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
    pub(crate) fn fetch(&self, context: &ContextCounters) -> u64 {
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
    pub(crate) unsafe fn begin(&self, issuer: &Issuer, counter: CompletionCounter, result: *mut u8) {
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

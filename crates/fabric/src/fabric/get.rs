//! Gets, also of memory that is no segment.

use super::Fabric;
use crate::completion::{CompletionCounter, Pending};
use crate::encoding::request::Request;
use crate::issue::{Direction, Issuer};
use crate::requester::Requester;
use crate::rma::{BlockTransfer, Transfer};
use crate::{Blocks, Context, Exposed, Exposure, Remote, Tracked};

impl Fabric {
    /// Reads `len` bytes; they are there on return.
    ///
    /// # Safety
    /// The destination is writable, the source is shared memory of a connected PE.
    pub unsafe fn get(&self, context: &Context, to: *mut u8, from: Remote, len: usize) {
        if self.is_shut_down() {
            // SAFETY: the caller promises that the destination is writable for `len` bytes.
            return unsafe { to.write_bytes(0, len) };
        }
        let counters = context.counters();
        let issuer = self.rma.drained_issuer(counters);
        if let Some(requester) = Requester::new(&self.rma, counters, from, Request::Read(len)) {
            if !issuer.completions.is_first()
                && let Some(peer) = counters.existing(from.pe)
                && !peer.no_writes()
            {
                // These are on another connection than the request.
                self.rma.progress.wait_at(issuer, || peer.no_writes());
            }
            let reply = requester.call();
            // SAFETY: the caller promises that the destination is writable for `len` bytes, which a
            // reply has at least.
            unsafe { std::ptr::copy_nonoverlapping(reply.as_ptr(), to, len) };
            return;
        }
        self.complete_messages(context, from.pe);
        let issuer = self.rma.issuer(counters);
        let pending = Pending::default();
        // SAFETY: the caller promises that the destination is writable for `len` bytes; the
        // operations are complete on return, or never are.
        unsafe {
            self.read(issuer, pending.counter(), to, from, len);
            let progress = &self.rma.progress;
            progress.wait_at(issuer, || pending.is_complete());
            if self.is_shut_down() || self.is_lost(from.pe) {
                to.write_bytes(0, len);
            }
        }
    }

    /// Waits until the PE has executed the puts of the context that are in messages: a read sees those that are
    /// writes, since it comes after them, and so the others, too.
    fn complete_messages(&self, context: &Context, pe: usize) {
        let context = context.counters();
        if !self.aggregates(context, 1) {
            return;
        }
        if let Some(peer) = context.existing(pe)
            && !peer.only_writes()
        {
            self.rma.wait_for(context, || peer.only_writes());
        }
    }

    /// Reads `len` bytes; they are there after quiet.
    ///
    /// # Safety
    /// As for [`get`](Self::get), until quiet.
    #[inline(never)] // once for all routines
    pub unsafe fn get_nbi(&self, context: &Context, to: *mut u8, from: Remote, len: usize) {
        // SAFETY: the caller promises that `to` is writable until quiet.
        unsafe { self.begin_get(context, None, to, from, len) };
    }

    /// # Safety
    /// As for [`get_nbi`](Self::get_nbi).
    #[inline]
    pub(super) unsafe fn begin_get(
        &self,
        context: &Context,
        tracked: Option<&Tracked>,
        to: *mut u8,
        from: Remote,
        len: usize,
    ) {
        if self.is_shut_down() {
            return;
        }
        let context = context.counters();
        let peer = self.rma.peer_counters(context, from.pe);
        let counter = CompletionCounter::context(context, peer, false);
        let counter = tracked.map_or(counter, |tracked| tracked.counter(context, counter));
        if let Some(requester) = Requester::new(&self.rma, context, from, Request::Read(len)) {
            // SAFETY: the caller promises that the destination is writable for `len` bytes until quiet.
            return unsafe { requester.begin(counter, to) };
        }
        // SAFETY: as above.
        unsafe { self.read(self.rma.issuer(context), counter, to, from, len) };
    }

    /// # Safety
    /// The destination is writable for `len` bytes until the operations are complete.
    unsafe fn read(&self, issuer: &Issuer, counter: CompletionCounter, to: *mut u8, from: Remote, len: usize) {
        let buffers = &self.shared().buffers;
        let transfer = Transfer { direction: Direction::Read, remote: from, exposed: None, local: to, len };
        // SAFETY: the caller promises that the destination is writable until the operations are
        // complete.
        unsafe {
            if buffers.must_register() && len <= buffers.bounce_len() {
                self.rma.transfer_copied(issuer, transfer, counter);
            } else {
                self.rma.transfer_direct(issuer, transfer, counter);
            }
        }
    }

    /// Lets peers [read](Self::get_exposed) memory that is in no segment. None: it must go by another way, since too
    /// much is exposed, or the provider refuses to register it.
    ///
    /// # Safety
    /// The memory is readable until it is [withdrawn](Self::withdraw).
    pub unsafe fn expose(&self, base: *const u8, len: usize) -> Option<(Exposure, Exposed)> {
        let shared = self.shared();
        // SAFETY: the caller promises that the memory is readable until it is withdrawn.
        unsafe { shared.exposures.add(&shared.buffers, base, len) }
    }

    /// No peer reads this any more.
    pub fn withdraw(&self, exposure: Exposure) {
        self.shared().exposures.withdraw(exposure);
    }

    /// Reads the first `len` bytes of what a PE [exposes](Self::expose); they are there after quiet.
    ///
    /// # Safety
    /// The destination is writable until quiet.
    pub unsafe fn get_exposed(&self, context: &Context, to: *mut u8, (pe, from): (usize, Exposed), len: usize) {
        let context = context.counters();
        let peer = self.rma.peer_counters(context, pe);
        let counter = CompletionCounter::context(context, peer, false);
        let transfer = Transfer {
            direction: Direction::Read,
            remote: Remote { pe, segment: 0, offset: 0 },
            exposed: Some(from.into()),
            local: to,
            len,
        };
        let issuer = self.rma.issuer(context);
        // SAFETY: the caller promises that the destination is writable until quiet.
        unsafe { self.rma.transfer_direct(issuer, transfer, counter) };
    }

    /// Reads blocks from `from` on to `to` on; they are there on return.
    ///
    /// # Safety
    /// As for [`get`](Self::get), for each block.
    pub unsafe fn get_blocks(&self, context: &Context, to: *mut u8, from: Remote, blocks: Blocks) {
        if blocks.is_empty() || self.is_shut_down() {
            return;
        }
        if blocks.are_contiguous() {
            let len = blocks.bytes * blocks.count;
            // SAFETY: the caller promises that each block is writable, and they are one piece.
            return unsafe { self.get(context, to, from, len) };
        }
        self.rma.drained_issuer(context.counters());
        self.complete_messages(context, from.pe);
        let transfer = BlockTransfer {
            rma: &self.rma,
            issuer: self.rma.issuer(context.counters()),
            remote: from,
            local: to,
            blocks,
        };
        // SAFETY: the caller promises that each block is writable.
        unsafe { transfer.read() }
    }
}

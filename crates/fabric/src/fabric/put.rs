//! Puts.

use super::Fabric;
use crate::am::Flush;
use crate::completion::{Aggregation, CompletionCounter, ContextCounters, Pending};
use crate::encoding::request::{Short, is_within_reach};
use crate::issue::{Direction, Issuer, SmallWrite, WriteCoalescer};
use crate::requester::Put;
use crate::rma::{BlockTransfer, Transfer};
use crate::{Blocks, Context, Remote};

impl Fabric {
    /// Writes `len` bytes. The source may be changed on return; complete at quiet.
    ///
    /// # Safety
    /// The source is readable, the target is shared memory of a connected PE.
    #[inline]
    pub unsafe fn put(&self, context: &Context, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller promises that the source is readable for `len` bytes.
        unsafe { self.append_or_write(context.counters(), to, from, len, false) };
    }

    /// Writes `len` bytes. The source stays as it is until quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), until quiet.
    #[inline(never)] // once for all routines
    pub unsafe fn put_nbi(&self, context: &Context, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller promises that the source is readable for `len` bytes until quiet.
        unsafe { self.append_or_write(context.counters(), to, from, len, true) };
    }

    /// Appends a put of at most a word to a message for the PE that is being filled, or writes. With `keep`, the source
    /// stays as it is until the write is complete.
    ///
    /// # Safety
    /// As for [`put`](Self::put), or with `keep` for [`put_nbi`](Self::put_nbi).
    #[inline]
    unsafe fn append_or_write(&self, context: &ContextCounters, to: Remote, from: *const u8, len: usize, keep: bool) {
        let is_appended = (1..=Short::LONGEST).contains(&len)
            && context.aggregation() != Aggregation::Off
            // SAFETY: the caller promises that the source is readable.
            && self.append(context, to, |place| Some(unsafe { Short::put(place, from, len) }));
        if !is_appended {
            // SAFETY: the caller promises that the source is readable, with `keep` until the write is complete.
            unsafe { self.write(context, to, from, len, keep) };
        }
    }

    /// Appends an item without a result to a message for the PE that is being filled. False: it is none, it has no
    /// room, or a fence orders the item behind others.
    #[inline]
    pub(super) fn append(
        &self,
        context: &ContextCounters,
        Remote { pe, segment, offset }: Remote,
        item: impl FnOnce((usize, usize)) -> Option<Short>,
    ) -> bool {
        let am = self.rma.progress.completions().am.as_ref();
        let Some((am, peer)) = am.zip(context.existing(pe)) else {
            return false;
        };
        let is_ordered = peer.no_writes() || !context.has_fence_for(peer);
        am.longest_put >= Short::LONGEST
            && is_ordered
            && is_within_reach((segment, offset), Short::LONGEST)
            && item((segment, offset)).is_some_and(|item| match context.batches() {
                None => am.messages.append_to_open(pe, item, peer),
                Some(batches) => am.messages.gather_to_open(pe, item, (batches, peer)),
            })
    }

    /// As [`put`](Self::put), or with `keep` as [`put_nbi`](Self::put_nbi), before a signal of that PE is
    /// [updated](Self::post): few bytes go with it.
    ///
    /// # Safety
    /// As for [`put`](Self::put) or [`put_nbi`](Self::put_nbi).
    pub unsafe fn put_signalled(&self, context: &Context, to: Remote, from: *const u8, len: usize, keep: bool) {
        if self.is_shut_down() {
            return;
        }
        let context = context.counters();
        let put = Put { rma: &self.rma, context, to, is_signalled: true };
        // SAFETY: the caller promises that the source is readable for `len` bytes, with `keep` until the
        // write is complete.
        unsafe {
            if !put.begin(from, len) {
                self.write(context, to, from, len, keep);
            }
        }
    }

    /// Writes `len` bytes. With `keep`, the source stays as it is until the write is complete.
    ///
    /// # Safety
    /// The source is readable for `len` bytes; with `keep` until the write is complete.
    #[inline(never)] // once for all routines
    unsafe fn write(&self, context: &ContextCounters, to: Remote, from: *const u8, len: usize, keep: bool) {
        if len == 0 || self.is_shut_down() {
            return;
        }
        let put = Put { rma: &self.rma, context, to, is_signalled: false };
        // SAFETY: the caller promises that the source is readable for `len` bytes.
        if unsafe { put.begin(from, len) } {
            return;
        }
        let (issuer, pe) = (self.rma.issuer(context), to.pe);
        let peer = self.rma.order(context, pe, true);
        if len <= WriteCoalescer::LONGEST {
            let iov = self.rma.resolve(to);
            if len <= iov.usable {
                let write = SmallWrite { pe, context, peer, iov, from, len };
                // SAFETY: the caller promises that the source is readable for `len` bytes.
                unsafe { issuer.coalescer.write(issuer, write) };
                return;
            }
        }
        let counter = CompletionCounter::context(context, peer, true);
        // SAFETY: the caller promises that the source is readable for `len` bytes, with `keep` until
        // the write is complete.
        unsafe { self.write_long((issuer, counter), to, from, len, keep) };
    }

    /// Whether puts of so many bytes are aggregated.
    pub(super) fn aggregates(&self, context: &ContextCounters, len: usize) -> bool {
        let am = self.rma.progress.completions().am.as_ref();
        let longest = am.map_or(0, |am| am.longest_put);
        len <= longest && context.aggregation() != Aggregation::Off
    }

    /// Writes too many bytes for the coalescer, or bytes in several parts.
    ///
    /// # Safety
    /// As for `write`.
    pub(super) unsafe fn write_long(
        &self,
        (issuer, counter): (&Issuer, CompletionCounter),
        to: Remote,
        from: *const u8,
        len: usize,
        keep: bool,
    ) {
        let buffers = &self.shared().buffers;
        let transfer = Transfer { direction: Direction::Write, remote: to, exposed: None, local: from.cast_mut(), len };
        let is_copied = !keep || buffers.must_register();
        if len <= crate::completion::INLINE || is_copied && len <= buffers.bounce_len() {
            // SAFETY: the caller promises that the source is readable.
            unsafe { self.rma.transfer_copied(issuer, transfer, counter) };
        } else if keep {
            // SAFETY: the caller promises that the source is readable until the write is complete.
            unsafe { self.rma.transfer_direct(issuer, transfer, counter) };
        } else {
            // The source is free once the target has it all.
            let pending = Pending::default();
            // SAFETY: the caller promises that the source is readable; the operations are complete
            // on return.
            unsafe {
                self.rma.transfer_direct(issuer, transfer, pending.counter());
            }
            let progress = &self.rma.progress;
            progress.wait_at(issuer, || pending.is_complete());
        }
    }

    /// As [`put`](Self::put) of few bytes, which are at once or never issued, whatever fences say: false if there is no
    /// room, or no connection, at present. To a PE that is lost or suspect nothing is put. For
    /// [`Events::tick`](crate::Events::tick), which must not wait.
    ///
    /// # Safety
    /// As for [`put`](Self::put); `len` is 64 at most.
    pub unsafe fn try_put(&self, context: &Context, to: Remote, from: *const u8, len: usize) -> bool {
        let (context, peer) = (context.counters(), self.shared().peer(to.pe));
        if self.is_shut_down() || !peer.condition.is_well() {
            return true;
        }
        let Some(iov) = peer.resolve(to).ok().filter(|iov| iov.usable >= len && peer.queue.is_empty()) else {
            return false;
        };
        let counter = CompletionCounter::context(context, self.rma.peer_counters(context, to.pe), true);
        let issuer = self.rma.issuer(context);
        // SAFETY: the caller promises that the source is readable for `len` bytes.
        let is_issued = unsafe { issuer.try_write(to.pe, counter, iov, from, len) };
        if !is_issued && !issuer.completions.is_first() {
            // Nobody else has it connect while nothing is under way there.
            issuer.completions.poll_uncounted(Flush::All);
        }
        is_issued
    }

    /// Writes `len` bytes. The source stays as it is until quiet, after which they may still be on
    /// their way: what is [injected](Self::inject) to that PE later comes after them. libfabric calls
    /// this transmit complete.
    ///
    /// # Safety
    /// As for [`put_nbi`](Self::put_nbi).
    pub unsafe fn put_local_completion(&self, context: &Context, to: Remote, from: *const u8, len: usize) {
        if self.is_shut_down() {
            return;
        }
        let context = context.counters();
        let peer = self.rma.order(context, to.pe, true);
        let counter = CompletionCounter::context(context, peer, true);
        // Where writes may overtake each other, what is injected later waits for the delivery of this.
        let direction = if self.rma.ordered { Direction::WriteLocal } else { Direction::Write };
        let transfer = Transfer { direction, remote: to, exposed: None, local: from.cast_mut(), len };
        let issuer = self.rma.issuer(context);
        // SAFETY: the caller promises that the source is readable for `len` bytes until quiet.
        unsafe { self.rma.transfer_direct(issuer, transfer, counter) };
    }

    /// Writes `len` bytes after all that the context has put to that PE before. Where writes keep their order, quiet
    /// does not wait for it, and that it was lost is not noticed here. The target acknowledges nothing,
    /// which makes this half as expensive for both as a put.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub unsafe fn inject(&self, context: &Context, to: Remote, from: *const u8, len: usize) {
        if self.is_shut_down() {
            return;
        }
        let context = context.counters();
        let issuer = self.rma.issuer(context);
        issuer.coalescer.drain(issuer);
        let iov = self.rma.resolve(to);
        // That a write was injected is not counted: the progress thread would leave it where it is, and the next one
        // could overtake it where writes do.
        let is_kept_in_order = self.rma.ordered && issuer.completions.is_first();
        if !is_kept_in_order || len > iov.usable.min(issuer.inject_bytes) {
            context.fence();
            // SAFETY: the caller promises that the source is readable for `len` bytes.
            return unsafe { self.write(context, to, from, len, false) };
        }
        let peer = self.rma.peer_counters(context, to.pe);
        if !peer.only_writes() {
            self.rma.wait_for(context, || peer.in_flight() == 0);
        }
        // SAFETY: the caller promises that the source is readable for `len` bytes.
        unsafe { issuer.inject(to.pe, iov, from, len) };
    }

    /// Writes blocks from `from` on to `to` on. The source may be changed on return; complete at
    /// quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), for each block.
    pub unsafe fn put_blocks(&self, context: &Context, to: Remote, from: *const u8, blocks: Blocks) {
        let context = context.counters();
        if blocks.is_empty() || self.is_shut_down() {
            return;
        }
        if blocks.are_contiguous() {
            let len = blocks.bytes * blocks.count;
            // SAFETY: the caller promises that each block is readable, and they are one piece.
            return unsafe { self.write(context, to, from, len, false) };
        }
        if self.aggregates(context, blocks.bytes) {
            for i in 0..blocks.count as isize {
                let offset = to.offset.wrapping_add_signed(blocks.remote_stride * i);
                // SAFETY: the caller promises that each block is readable.
                unsafe {
                    let from = from.offset(blocks.local_stride * i);
                    self.write(context, Remote { offset, ..to }, from, blocks.bytes, false);
                }
            }
            return;
        }
        let transfer = BlockTransfer {
            rma: &self.rma,
            issuer: self.rma.issuer(context),
            remote: to,
            local: from.cast_mut(),
            blocks,
        };
        // SAFETY: the caller promises that each block is readable.
        unsafe { transfer.write(context) }
    }
}

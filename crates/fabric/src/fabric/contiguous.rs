//! Puts and gets of contiguous memory: within a message, together with others, or cut into operations of libfabric's.

use std::ptr;

use super::Fabric;
use crate::address::RmaIov;
use crate::am::Flush;
use crate::completion::{Aggregation, CompletionCounter, ContextCounters, CopyOut, INLINE, Pending, WorkRequest};
use crate::encoding::request::{Request, Short, is_within_reach};
use crate::issue::{Direction, IovList, Issuer, SmallWrite, WriteCoalescer};
use crate::memory::RmaAddress;
use crate::requester::{Put, Requester};
use crate::rma::Rma;
use crate::{Context, Exposed, Exposure, Remote, Tracked};

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
    pub(super) unsafe fn write(&self, context: &ContextCounters, to: Remote, from: *const u8, len: usize, keep: bool) {
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
        let transfer = self.transfer(issuer, Direction::Write, to, from.cast_mut(), len);
        // SAFETY: the caller promises that the source is readable for `len` bytes, with `keep` until
        // the write is complete.
        unsafe { transfer.begin_write(counter, keep) };
    }

    /// Whether puts of so many bytes are aggregated.
    pub(super) fn aggregates(&self, context: &ContextCounters, len: usize) -> bool {
        let am = self.rma.progress.completions().am.as_ref();
        let longest = am.map_or(0, |am| am.longest_put);
        len <= longest && context.aggregation() != Aggregation::Off
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
        let transfer = self.transfer(self.rma.issuer(context), direction, to, from.cast_mut(), len);
        // SAFETY: the caller promises that the source is readable for `len` bytes until quiet.
        unsafe { transfer.direct(counter) };
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
            unsafe { ptr::copy_nonoverlapping(reply.as_ptr(), to, len) };
            return;
        }
        self.complete_messages(context, from.pe);
        let issuer = self.rma.issuer(counters);
        let pending = Pending::default();
        // SAFETY: the caller promises that the destination is writable for `len` bytes; the
        // operations are complete on return, or never are.
        unsafe {
            self.transfer(issuer, Direction::Read, from, to, len).begin_read(pending.counter());
            let progress = &self.rma.progress;
            progress.wait_at(issuer, || pending.is_complete());
            if self.is_shut_down() || self.is_lost(from.pe) {
                to.write_bytes(0, len);
            }
        }
    }

    /// Waits until the PE has executed the puts of the context that are in messages: a read sees those that are
    /// writes, since it comes after them, and so the others, too.
    pub(super) fn complete_messages(&self, context: &Context, pe: usize) {
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
        unsafe { self.transfer(self.rma.issuer(context), Direction::Read, from, to, len).begin_read(counter) };
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
        let remote = Remote { pe, segment: 0, offset: 0 };
        let transfer = self.transfer(self.rma.issuer(context), Direction::Read, remote, to, len);
        // SAFETY: the caller promises that the destination is writable until quiet.
        unsafe { Transfer { exposed: Some(from.into()), ..transfer }.direct(counter) };
    }

    /// A transfer between contiguous memory here and of a segment.
    #[inline]
    pub(super) fn transfer<'a>(
        &'a self,
        issuer: &'a Issuer,
        direction: Direction,
        remote: Remote,
        local: *mut u8,
        len: usize,
    ) -> Transfer<'a> {
        Transfer { rma: &self.rma, issuer, direction, remote, exposed: None, local, len }
    }
}

/// A transfer of contiguous memory.
#[derive(Clone, Copy)]
pub(super) struct Transfer<'a> {
    pub rma: &'a Rma,
    /// That of the transfer's context.
    pub issuer: &'a Issuer,
    pub direction: Direction,
    pub remote: Remote,
    /// Memory that is not part of a segment, in which the remote offset counts.
    pub exposed: Option<RmaAddress>,
    pub local: *mut u8,
    pub len: usize,
}

impl Transfer<'_> {
    /// The part from `done` bytes on.
    fn part(self, done: usize, len: usize) -> Self {
        let offset = self.remote.offset + done;
        Self { remote: Remote { offset, ..self.remote }, local: self.local.wrapping_add(done), len, ..self }
    }

    /// Calls `f` for each part that one operation of at most `limit` bytes may be about: with its address, how many
    /// bytes precede it, and its length.
    #[inline]
    fn each_part(&self, limit: usize, mut f: impl FnMut(RmaIov, usize, usize)) {
        let progress = &self.rma.progress;
        let limit = limit.min(progress.first.max_bytes);
        let (at, len) = (self.remote, self.len);
        let mut done = 0;
        while done < len && !progress.shared().shutdown.is_done() {
            let offset = at.offset + done;
            let iov = match self.exposed {
                None => self.rma.resolve(Remote { offset, ..at }),
                Some(RmaAddress { address, key }) => {
                    RmaIov { address: address.wrapping_add(offset as u64), key, usable: len - done }
                }
            };
            let part = (len - done).min(iov.usable).min(limit);
            f(iov, done, part);
            done += part;
        }
    }

    /// Begins a write: directly, or by a bounce buffer. With `keep`, the source stays as it is until the write is
    /// complete.
    ///
    /// # Safety
    /// The source is readable; with `keep` until the write is complete.
    pub(super) unsafe fn begin_write(self, counter: CompletionCounter, keep: bool) {
        let progress = &self.rma.progress;
        let buffers = &progress.shared().buffers;
        let is_copied = !keep || buffers.must_register();
        if self.len <= INLINE || is_copied && self.len <= buffers.bounce_len() {
            // SAFETY: the caller promises that the source is readable.
            unsafe { self.copied(counter) };
        } else if keep {
            // SAFETY: the caller promises that the source is readable until the write is complete.
            unsafe { self.direct(counter) };
        } else {
            // The source is free once the target has it all.
            let pending = Pending::default();
            // SAFETY: the caller promises that the source is readable; the operations are complete
            // on return.
            unsafe { self.direct(pending.counter()) };
            progress.wait_at(self.issuer, || pending.is_complete());
        }
    }

    /// Begins a read: directly, or by a bounce buffer.
    ///
    /// # Safety
    /// The destination is writable until the read is complete.
    unsafe fn begin_read(self, counter: CompletionCounter) {
        let buffers = &self.rma.progress.shared().buffers;
        // SAFETY: the caller promises that the destination is writable until the read is complete.
        unsafe {
            if buffers.must_register() && self.len <= buffers.bounce_len() {
                self.copied(counter);
            } else {
                self.direct(counter);
            }
        }
    }

    /// Begins writes or reads of the program's memory where it is; copies through bounce
    /// buffers where it cannot be registered. `counter` counts each operation.
    ///
    /// # Safety
    /// The local memory is readable, for reads writable, until the operations are complete.
    pub(super) unsafe fn direct(self, counter: CompletionCounter) {
        let (pe, issuer) = (self.remote.pe, self.issuer);
        self.each_part(usize::MAX, |iov, done, len| {
            let part = self.part(done, len);
            let Some(buffer) = self.rma.progress.shared().direct(part.local, len) else {
                // SAFETY: part of the memory that the caller promises to be there until the
                // operations are complete.
                unsafe { part.copied(counter) };
                return;
            };
            let request = issuer.completions.request(pe, counter);
            // SAFETY: a part of the local memory, which the caller promises to be there; `iov` is as long.
            unsafe { issuer.issue(request, pe, self.direction, buffer, &IovList::new(iov, len)) };
        });
    }

    /// Begins writes or reads through work requests and bounce buffers.
    ///
    /// # Safety
    /// The local memory is readable; for reads it is writable until the operations are complete.
    pub(super) unsafe fn copied(self, counter: CompletionCounter) {
        let Self { direction, local, issuer, .. } = self;
        let (pe, progress) = (self.remote.pe, &self.rma.progress);
        self.each_part(progress.shared().buffers.bounce_len(), |iov, done, part| {
            // SAFETY: part of the local memory, which the caller promises to be there.
            let to = unsafe { local.add(done) };
            let bounce = (part > INLINE).then(|| progress.bounce(issuer, pe));
            let request = issuer.completions.request(pe, counter);
            let buffer = bounce.unwrap_or_else(|| WorkRequest::inline(request));
            match direction {
                // SAFETY: the caller promises that the local memory is readable; the buffer has
                // room for a part.
                Direction::Write | Direction::WriteLocal => unsafe {
                    ptr::copy_nonoverlapping(to, buffer.base, part);
                },
                // SAFETY: the request has not begun, and this thread alone has it.
                Direction::Read => unsafe {
                    (*request.as_ptr()).copy_out = Some(CopyOut::contiguous(buffer.base, to, part));
                },
            }
            // SAFETY: the operation keeps its buffer, which is as long as the part.
            unsafe { issuer.issue(request, pe, direction, buffer, &IovList::new(iov, part)) };
        });
    }
}

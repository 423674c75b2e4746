//! The public face of the crate.

mod tracked;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::address::AddressBlob;
use crate::am::AmEndpoint;
use crate::completion::{Aggregation, CompletionCounter, ContextCounters, Pending, Shared};
use crate::discovery;
use crate::encoding::request::{Request, Short, is_within_reach};
use crate::endpoint::Endpoint;
use crate::issue::{Direction, Issuer, SmallWrite, WriteCoalescer};
use crate::memory::Segments;
use crate::progress::{Progress, ProgressThread};
use crate::queue::CompletionQueue;
use crate::requester::{Put, Requester, append_record};
use crate::rma::{AtomicTransfer, BlockTransfer, Rma, Transfer};
use crate::{AtomicOp, Blocks, Config, Context, Error, Events, Exposed, Exposure, Remote, Tracked};

/// The way to PEs of other nodes. All of it may be used by any number of threads.
pub struct Fabric {
    /// Dropped first, which ends the thread.
    _thread: ProgressThread,
    rma: Rma,
}

impl std::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Fabric").field(&self.name()).finish()
    }
}

impl Fabric {
    /// Opens the library, chooses a provider and starts the progress thread.
    ///
    /// # Errors
    /// There is no library, or none of its providers does what is needed.
    pub fn open(config: &Config, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(config, events, false)
    }

    /// As [`open`](Self::open), but registers memory as for a provider that pins what is
    /// registered: the part in use only, and local buffers too; and operations move at most
    /// 1 MiB. For tests.
    #[doc(hidden)]
    pub fn open_pinned(config: &Config, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(config, events, true)
    }

    fn start(config: &Config, events: Arc<dyn Events>, pinned: bool) -> Result<Fabric, Error> {
        let library = discovery::open_library(config)?;
        let info = discovery::choose(&library, config)?;
        let ordered = discovery::keeps_writes_in_order(&library, &info.provider());
        let endpoint = Arc::new(Endpoint::open(library, info, pinned)?);
        // SAFETY: infos have all their parts.
        let inject_bytes = unsafe { (*endpoint.info.tx_attr()).inject_size };
        let am = AmEndpoint::open(&endpoint, config, inject_bytes)?;
        let shared = Arc::new(Shared::new(endpoint.clone(), events, config)?);
        let completions = CompletionQueue::new(endpoint, shared, am);
        let issuer = Issuer::new(completions, inject_bytes, pinned);
        let progress = Arc::new(Progress::new(issuer, config.endpoints));
        Ok(Fabric { _thread: ProgressThread::start(progress.clone())?, rma: Rma { progress, ordered } })
    }

    fn shared(&self) -> &Shared {
        self.rma.progress.shared()
    }

    #[cfg(test)]
    pub(crate) fn progress_of_tests(&self) -> &Progress {
        &self.rma.progress
    }

    /// Provider and version: "verbs;ofi_rxm (libfabric 1.17)".
    pub fn name(&self) -> String {
        let endpoint = &self.shared().endpoint;
        let (major, minor) = endpoint.library.version();
        format!("{} (libfabric {major}.{minor})", endpoint.info.provider())
    }

    /// Whether atomics are executed by a CPU of the target, atomic with CPU atomics there.
    pub fn atomics_by_cpu(&self) -> bool {
        // rxm sends atomics as messages, which a CPU of the target executes by its own
        // atomic instructions; over tcp this library does. Of others it is not known, or a device executes them.
        let endpoint = &self.shared().endpoint;
        endpoint.is_tcp_alone() || endpoint.has_layer("ofi_rxm")
    }

    /// Whether writes of peers wake the progress thread, so that [`Events::memory_changed`] follows
    /// each at once. A device that writes by itself notifies no thread: then it is called every
    /// two milliseconds for a while after each [`yield_progress`](Self::yield_progress).
    pub fn notifies_writes(&self) -> bool {
        self.shared().endpoint.notifies_writes()
    }

    /// Makes the `len` bytes from `base` reachable as segment `index` (0 to 3), of which the
    /// first `ready` are in use. Before [`address`](Self::address).
    ///
    /// # Errors
    /// The provider cannot register the memory.
    ///
    /// # Safety
    /// The memory stays mapped while the fabric is open. Peers read and write it at any time.
    pub unsafe fn share(&self, index: usize, base: *mut u8, len: usize, ready: usize) -> Result<(), Error> {
        let Shared { segments, endpoint, buffers, .. } = self.shared();
        let make_room = |bytes| buffers.give_up(bytes);
        // SAFETY: the caller promises that the memory stays mapped while the fabric is open.
        unsafe { segments.share(endpoint, index, base, len, ready, &make_room) }
    }

    /// The segment is in use up to `ready` bytes. Peers may access them once this has returned
    /// and they have learnt of it.
    ///
    /// # Errors
    /// The provider cannot register the memory.
    pub fn extend(&self, index: usize, ready: usize) -> Result<(), Error> {
        let Shared { segments, endpoint, buffers, .. } = self.shared();
        segments.extend(endpoint, index, ready, &|bytes| buffers.give_up(bytes))
    }

    /// All that a peer needs to reach this PE: its address blob. Less than 1 KiB.
    pub fn address(&self) -> Vec<u8> {
        let Shared { segments, endpoint, .. } = self.shared();
        let am = &self.rma.progress.completions().am;
        let blob = AddressBlob {
            provider: endpoint.info.provider(),
            name: endpoint.name().unwrap_or_default(),
            format: endpoint.info.format(),
            virtual_addresses: endpoint.virtual_addresses(),
            key_table: Segments::table(segments, endpoint),
            message_slots: am.as_ref().and_then(AmEndpoint::location),
            segments: segments.describe(),
        };
        blob.to_bytes()
    }

    /// Makes PEs known by their address blobs. This PE may be among them.
    ///
    /// # Errors
    /// A PE uses another provider, or its address cannot be reached from here.
    pub fn connect(&self, n_pes: usize, blobs: &mut dyn Iterator<Item = (usize, &[u8])>) -> Result<(), Error> {
        let Shared { peers, endpoint, .. } = self.shared();
        peers.connect(endpoint, n_pes, blobs)
    }

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
    fn append(
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
    fn aggregates(&self, context: &ContextCounters, len: usize) -> bool {
        let am = self.rma.progress.completions().am.as_ref();
        let longest = am.map_or(0, |am| am.longest_put);
        len <= longest && context.aggregation() != Aggregation::Off
    }

    /// Writes too many bytes for the coalescer, or bytes in several parts.
    ///
    /// # Safety
    /// As for `write`.
    unsafe fn write_long(
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
        let transfer =
            Transfer { direction: Direction::WriteLocal, remote: to, exposed: None, local: from.cast_mut(), len };
        let issuer = self.rma.issuer(context);
        // SAFETY: the caller promises that the source is readable for `len` bytes until quiet.
        unsafe { self.rma.transfer_direct(issuer, transfer, counter) };
    }

    /// Writes `len` bytes after all that the context has put to that PE before. Quiet does
    /// not wait for it, and that it was lost is not noticed here. The target acknowledges nothing,
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
        // That a write was injected is not counted: the progress thread would leave it where it is.
        let is_first = issuer.completions.is_first();
        if !is_first || len > iov.usable.min(issuer.inject_bytes) {
            context.fence();
            // SAFETY: the caller promises that the source is readable for `len` bytes.
            return unsafe { self.write(context, to, from, len, false) };
        }
        let peer = self.rma.peer_counters(context, to.pe);
        if !(self.rma.ordered && peer.only_writes()) {
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
        if let Some(requester) = Requester::new(&self.rma, counters, from, Request::Read(len)) {
            let issuer = self.rma.opened_issuer(counters);
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
            if self.is_shut_down() {
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
    unsafe fn begin_get(&self, context: &Context, tracked: Option<&Tracked>, to: *mut u8, from: Remote, len: usize) {
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
    unsafe fn begin_fetch(
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

    /// The longest record in bytes.
    pub fn longest_record(&self) -> usize {
        let am = self.rma.progress.completions().am.as_ref();
        am.map_or(0, |am| am.messages.longest_record())
    }

    /// Sends a record of two parts to the owner of a PE's fabric ([`Events::record_arrived`]), behind those that were
    /// sent to it before. It is complete, at quiet, when the owner has got it. False: there is no room at present.
    pub fn send_record(&self, context: &Context, pe: usize, parts: [&[u8]; 2]) -> bool {
        append_record(&self.rma, context.counters(), pe, parts) || self.is_shut_down()
    }

    /// Has the fabric shut down, as after [`Events::peer_failed`]: soon after, no operation does anything any more,
    /// whatever it would give has any value, and no thread waits, for those under way neither. The memory of these may
    /// be used for something else then. With [`Config::survives`] alone; from any thread.
    pub fn shut_down(&self) {
        self.shared().shutdown.request();
    }

    /// Whether it is shut down.
    #[inline]
    pub fn is_shut_down(&self) -> bool {
        self.shared().shutdown.is_done()
    }

    /// Whether all operations of the context are complete.
    pub fn is_complete(&self, context: &Context) -> bool {
        context.counters().in_flight() == 0
    }

    /// What was put and posted before is delivered, on each PE, before what comes after.
    pub fn fence(&self, context: &Context) {
        let context = context.counters();
        let issuer = self.rma.opened_issuer(context);
        issuer.coalescer.drain(issuer);
        context.fence();
    }

    /// Returns when all operations of the context are complete.
    pub fn quiet(&self, context: &Context) {
        let context = context.counters();
        self.rma.wait_for(context, || context.in_flight() == 0);
    }

    /// Returns when all operations of the context are complete, or once `given_up` says so.
    pub fn quiet_unless(&self, context: &Context, given_up: impl Fn() -> bool) {
        let context = context.counters();
        let done = || context.in_flight() == 0 || given_up();
        self.rma.wait_for(context, done);
    }

    /// Returns when all operations of the context to this PE are complete.
    pub fn quiet_pe(&self, context: &Context, pe: usize) {
        let context = context.counters();
        if let Some(peer) = context.existing(pe) {
            self.rma.wait_for(context, || peer.in_flight() == 0);
        }
    }

    /// How many operations to a PE have been completed so far, modulo 2^32: while that grows, the PE
    /// is alive.
    pub fn completed(&self, pe: usize) -> u32 {
        let peer = self.shared().peers.get(pe);
        peer.map_or(0, |peer| peer.completed.load(Ordering::Relaxed))
    }

    /// Returns when `done`: for a thread that waits for memory which a remote PE writes.
    pub fn wait(&self, done: impl FnMut() -> bool) {
        self.rma.progress.wait(done);
    }

    /// Makes progress once: for a thread that waits for memory which a remote PE writes. Returns how many operations
    /// were completed, and messages of peers served.
    pub fn progress(&self) -> usize {
        self.rma.progress.poll()
    }

    /// For a thread that has called [`progress`](Self::progress) and is about to sleep until
    /// [`Events::memory_changed`]: the progress thread, which stays out of the way of threads that
    /// poll, takes over at once instead of half a millisecond later.
    pub fn yield_progress(&self) {
        self.shared().event_count.yield_progress();
    }

    /// Stops the progress thread and closes everything, as dropping does.
    pub fn close(self) {}
}

//! The public face of the crate: the way to other nodes, from its opening to its end, and what completes operations.

mod atomics;
mod blocks;
mod contiguous;
mod tracked;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::address::AddressBlob;
use crate::am::AmEndpoint;
use crate::completion::Shared;
use crate::discovery;
use crate::endpoint::Endpoint;
use crate::issue::Issuer;
use crate::memory::Segments;
use crate::progress::{Progress, ProgressThread};
use crate::queue::CompletionQueue;
use crate::requester::append_record;
use crate::rma::Rma;
use crate::{Config, Context, Error, Events};

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
        let (ordered, sends_follow_writes) = discovery::orders(&library, &info.provider());
        let endpoint = Arc::new(Endpoint::open(library, info, pinned)?);
        // SAFETY: infos have all their parts.
        let inject_bytes = unsafe { (*endpoint.info.tx_attr()).inject_size };
        let am = AmEndpoint::open(&endpoint, config, inject_bytes)?;
        let shared = Arc::new(Shared::new(endpoint.clone(), events, config)?);
        let completions = CompletionQueue::new(endpoint, shared, am);
        let issuer = Issuer::new(completions, inject_bytes, pinned);
        let progress = Arc::new(Progress::new(issuer, config.endpoints));
        let rma = Rma { progress: progress.clone(), ordered, sends_follow_writes };
        Ok(Fabric { _thread: ProgressThread::start(progress)?, rma })
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

    /// From now on, an operation that fails makes its PE a suspect: operations to it wait for its [loss](Self::lose),
    /// those to other PEs go on. If it is not lost within 10/3 of [`Config::peer_timeout`], [`Events::peer_failed`]
    /// follows. A failure of which libfabric does not say the PE is explained by the loss of any PE within that time,
    /// before or after.
    pub fn tolerate_failures(&self) {
        self.shared().losses.tolerate();
    }

    /// A PE is lost, for ever: its process has ended, or its host is cut off. Operations to it do nothing from now on,
    /// and count as complete; those under way are complete soon, at the latest a second or two later, and what they
    /// would give has any value. Messages that come from it later are not taken. Those to and from other PEs go on.
    /// From any thread, also within [`Events::tick`].
    pub fn lose(&self, pe: usize) {
        self.rma.progress.lose(pe);
    }

    /// Whether a PE is [lost](Self::lose).
    #[inline]
    pub fn is_lost(&self, pe: usize) -> bool {
        self.shared().is_lost(pe)
    }

    /// Whether all operations of the context are complete.
    pub fn is_complete(&self, context: &Context) -> bool {
        context.counters().in_flight() == 0
    }

    /// What was put and posted before is delivered, on each PE, before what comes after.
    pub fn fence(&self, context: &Context) {
        let context = context.counters();
        self.rma.drained_issuer(context);
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
}

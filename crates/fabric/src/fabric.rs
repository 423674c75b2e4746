use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::desk::Desk;
use crate::engine::Engine;
use crate::helper::Helper;
use crate::ticket::{SegmentTicket, Ticket};
use crate::{AtomicOp, Blocks, Config, Context, Error, Remote};

/// What the engine tells its owner. Called from any thread.
pub trait Events: Send + Sync {
    /// An operation to this PE failed for good; if libfabric does not say which, to a PE that
    /// had operations under way. Ends the process. It may put to others before that.
    fn peer_failed(&self, pe: usize, reason: &str) -> !;
    /// The helper thread has handled traffic: memory of this process may have changed. What
    /// else calls into the engine handles traffic as well, without this call; and it may be
    /// called without need, see [`Fabric::notifies_writes`].
    fn memory_changed(&self);
    /// Called by the helper thread every [`Config::tick`] or more often.
    fn tick(&self);
}

/// The way to PEs of other nodes. All of it may be used by any number of threads.
pub struct Fabric {
    engine: Arc<Engine>,
    /// Stops its thread when dropped.
    _helper: Helper,
}

impl std::fmt::Debug for Fabric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Fabric").field(&self.name()).finish()
    }
}

impl Fabric {
    /// Opens the library, chooses a provider and starts the helper thread.
    ///
    /// # Errors
    /// There is no library, or nothing in it that does what is needed.
    pub fn open(config: &Config, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(Engine::open(config, events, false)?)
    }

    /// As [`open`](Self::open), but registers memory as for a provider that pins what is
    /// registered: the part in use only, and local buffers too; and operations move at most
    /// 1 MiB. For tests.
    #[doc(hidden)]
    pub fn open_pinned(config: &Config, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(Engine::open(config, events, true)?)
    }

    fn start(engine: Engine) -> Result<Fabric, Error> {
        let engine = Arc::new(engine);
        Ok(Fabric {
            _helper: Helper::start(engine.clone())?,
            engine,
        })
    }

    /// Provider and version: "tcp;ofi_rxm (libfabric 1.17)".
    pub fn name(&self) -> String {
        let endpoint = &self.engine.endpoint;
        let (major, minor) = endpoint.library.version();
        format!("{} (libfabric {major}.{minor})", endpoint.info.provider())
    }

    /// Whether atomics are executed by a CPU of the target, atomic with CPU atomics there.
    pub fn atomics_by_cpu(&self) -> bool {
        // rxm sends atomics as messages, which a CPU of the target executes by its own
        // atomic instructions. Of others it is not known, or a device executes them.
        let provider = self.engine.endpoint.info.provider();
        provider.split(';').any(|part| part == "ofi_rxm")
    }

    /// Whether writes of peers wake the helper thread, so that [`Events::memory_changed`] follows
    /// each at once. Where a device writes by itself, nobody is told: then it is called every
    /// two milliseconds for a while after each [`yield_progress`](Self::yield_progress).
    pub fn notifies_writes(&self) -> bool {
        self.engine.notifies_writes()
    }

    /// Makes the `len` bytes from `base` reachable as segment `index` (0 to 3), of which the
    /// first `ready` are in use. Before [`ticket`](Self::address).
    ///
    /// # Errors
    /// The provider cannot register the memory.
    ///
    /// # Safety
    /// The memory stays mapped while the fabric is open. Peers read and write it at any time.
    pub unsafe fn share(
        &self,
        index: usize,
        base: *mut u8,
        len: usize,
        ready: usize,
    ) -> Result<(), Error> {
        let engine = &self.engine;
        let make_room = |bytes| engine.buffers.give_up(bytes);
        // SAFETY: the caller's promise.
        unsafe {
            engine
                .segments
                .share(&engine.endpoint, index, base, len, ready, &make_room)
        }
    }

    /// The segment is in use up to `ready` bytes. Peers may go there once this has returned
    /// and they have learnt of it.
    ///
    /// # Errors
    /// The provider cannot register the memory.
    pub fn extend(&self, index: usize, ready: usize) -> Result<(), Error> {
        let engine = &self.engine;
        let make_room = |bytes| engine.buffers.give_up(bytes);
        engine
            .segments
            .extend(&engine.endpoint, index, ready, &make_room)
    }

    /// All that a peer needs to reach this PE. Less than 1 KiB.
    pub fn address(&self) -> Vec<u8> {
        let engine = &self.engine;
        let endpoint = &engine.endpoint;
        let segments = engine.segments.describe().into_iter();
        let ticket = Ticket {
            provider: endpoint.info.provider(),
            name: endpoint.name().unwrap_or_default(),
            format: endpoint.info.format(),
            virtual_addresses: endpoint.virtual_addresses(),
            table: engine.segments.table(endpoint),
            desk: engine.desk.as_ref().map(Desk::address),
            segments: segments
                .map(|s| SegmentTicket {
                    base: s.base,
                    len: s.len,
                    keys: s.keys,
                })
                .collect(),
        };
        ticket.to_bytes()
    }

    /// Makes PEs known by their tickets. Oneself may be among them.
    ///
    /// # Errors
    /// A PE uses another provider, or its address cannot be reached from here.
    pub fn connect(
        &self,
        n_pes: usize,
        tickets: &mut dyn Iterator<Item = (usize, &[u8])>,
    ) -> Result<(), Error> {
        let engine = &self.engine;
        engine.peers.connect(&engine.endpoint, n_pes, tickets)
    }

    /// Writes `len` bytes. The source may be changed on return; complete at quiet.
    ///
    /// # Safety
    /// The source is readable, the target is shared memory of a connected PE.
    pub unsafe fn put(&self, s: &Context, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.put(s.counts(), to, from, len, false) }
    }

    /// Writes `len` bytes. The source stays as it is until quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), until quiet.
    pub unsafe fn put_nbi(&self, s: &Context, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.put(s.counts(), to, from, len, true) }
    }

    /// Writes `len` bytes. The source stays as it is until quiet, after which they may still be on
    /// their way: what is told to that PE later comes after them.
    ///
    /// # Safety
    /// As for [`put_nbi`](Self::put_nbi).
    pub unsafe fn put_local_completion(
        &self,
        s: &Context,
        to: Remote,
        from: *const u8,
        len: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.send(s.counts(), to, from, len) }
    }

    /// Writes `len` bytes after all that the stream has put and sent to that PE before. Quiet does
    /// not wait for it, and that it was lost is not noticed here. The target answers nothing,
    /// which makes this half as expensive for both as a put.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub unsafe fn inject(&self, s: &Context, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.tell(s.counts(), to, from, len) }
    }

    /// Reads `len` bytes; they are there on return.
    ///
    /// # Safety
    /// The destination is writable, the source is shared memory of a connected PE.
    pub unsafe fn get(&self, _: &Context, to: *mut u8, from: Remote, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.get(None, to, from, len) }
    }

    /// Reads `len` bytes; they are there after quiet.
    ///
    /// # Safety
    /// As for [`get`](Self::get), until quiet.
    pub unsafe fn get_nbi(&self, s: &Context, to: *mut u8, from: Remote, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.get(Some(s.counts()), to, from, len) }
    }

    /// Writes blocks from `from` on to `to` on. The source may be changed on return; complete at
    /// quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), for each block.
    pub unsafe fn put_blocks(&self, s: &Context, to: Remote, from: *const u8, blocks: Blocks) {
        // SAFETY: the caller promises that each block is readable and within shared memory.
        unsafe {
            self.engine
                .put_blocks(s.counts(), to, from.cast_mut(), blocks)
        }
    }

    /// Reads blocks from `from` on to `to` on; they are there on return.
    ///
    /// # Safety
    /// As for [`get`](Self::get), for each block.
    pub unsafe fn get_blocks(&self, _: &Context, to: *mut u8, from: Remote, blocks: Blocks) {
        // SAFETY: the caller promises that each block is writable and within shared memory.
        unsafe { self.engine.get_blocks(from, to, blocks) }
    }

    /// An atomic operation without result: [`Op::Write`](crate::Op::Write), `Add`, `And`, `Or` or
    /// `Xor`. Complete at quiet.
    pub fn post(&self, s: &Context, at: Remote, atomic: AtomicOp) {
        self.engine.post(s.counts(), at, atomic);
    }

    /// An atomic operation that returns what the word was before.
    pub fn fetch(&self, s: &Context, at: Remote, atomic: AtomicOp) -> u64 {
        self.engine.fetch(s.counts(), at, atomic)
    }

    /// As [`fetch`](Self::fetch); what the word was is at `result`, 4 or 8 bytes by its width,
    /// after quiet.
    ///
    /// # Safety
    /// The result is writable until quiet.
    pub unsafe fn fetch_nbi(&self, s: &Context, at: Remote, atomic: AtomicOp, result: *mut u8) {
        // SAFETY: the caller promises that the result is writable until quiet.
        unsafe { self.engine.fetch_nbi(s.counts(), at, atomic, result) }
    }

    /// What was put and posted before is delivered, on each PE, before what comes after.
    pub fn fence(&self, s: &Context) {
        self.engine.gathers.settle(&self.engine);
        s.counts().fence();
    }

    /// Returns when all operations of the stream are complete.
    pub fn quiet(&self, s: &Context) {
        let counts = s.counts();
        self.engine.wait(|| counts.under_way() == 0);
    }

    /// Returns when all operations of the stream to this PE are complete.
    pub fn quiet_pe(&self, s: &Context, pe: usize) {
        if let Some(lane) = s.counts().existing(pe) {
            self.engine.wait(|| lane.under_way() == 0);
        }
    }

    /// How many operations to a PE have been completed so far, modulo 2^32: while that moves, the PE
    /// is there.
    pub fn completed(&self, pe: usize) -> u32 {
        let peer = self.engine.peers.get(pe);
        peer.map_or(0, |peer| peer.answers.load(Ordering::Relaxed))
    }

    /// Lets the provider work once: for a thread that waits for memory which a remote PE writes.
    pub fn progress(&self) {
        self.engine.progress();
    }

    /// For a thread that has called [`progress`](Self::progress) and is about to sleep until
    /// [`Events::memory_changed`]: the helper thread, which stays out of the way of threads that
    /// poll, takes over at once instead of half a millisecond later.
    pub fn yield_progress(&self) {
        self.engine.bell.hand_over();
    }

    /// Stops the helper thread and closes everything, as dropping does.
    pub fn close(self) {}
}

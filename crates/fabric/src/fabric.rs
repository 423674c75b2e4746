use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::atomic::Atomic;
use crate::blocks::Blocks;
use crate::desk::Desk;
use crate::engine::Engine;
use crate::helper::Helper;
use crate::ticket::{SegmentTicket, Ticket};
use crate::{Error, Op, Remote, Request, Stream, Width};

/// What the engine tells its owner. Called from any thread.
pub trait Events: Send + Sync {
    /// An operation to this PE failed for good; if libfabric does not say which, to a PE that
    /// had operations under way. Ends the process. It may put to others before that.
    fn lost(&self, pe: usize, reason: &str) -> !;
    /// The helper thread has handled traffic: memory of this process may have changed. What
    /// else calls into the engine handles traffic as well, without this call; and it may be
    /// called without need, see [`Fabric::tells_of_writes`].
    fn arrived(&self);
    /// Called by the helper thread every [`Request::tick`] or more often.
    fn tick(&self);
}

/// The way to PEs of other nodes. All of it may be used by any number of threads.
pub struct Fabric {
    engine: Arc<Engine>,
    /// Stops its thread when dropped.
    _helper: Helper,
}

impl Fabric {
    /// Opens the library, chooses a provider and starts the helper thread.
    ///
    /// # Errors
    /// There is no library, or nothing in it that does what is needed.
    pub fn open(request: &Request, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(Engine::open(request, events, false)?)
    }

    /// As [`open`](Self::open), but registers memory as for a provider that pins what is
    /// registered: the part in use only, and local buffers too; and operations move at most
    /// 1 MiB. For tests.
    #[doc(hidden)]
    pub fn open_pinned(request: &Request, events: Arc<dyn Events>) -> Result<Fabric, Error> {
        Fabric::start(Engine::open(request, events, true)?)
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

    /// Whether writes of peers wake the helper thread, so that [`Events::arrived`] follows
    /// each at once. Where a device writes by itself, nobody is told: then it is called every
    /// two milliseconds for a while after each [`hand_over`](Self::hand_over).
    pub fn tells_of_writes(&self) -> bool {
        self.engine.tells_of_writes()
    }

    /// Makes the `len` bytes from `base` reachable as segment `index` (0 to 3), of which the
    /// first `ready` are in use. Before [`ticket`](Self::ticket).
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
    pub fn ticket(&self) -> Vec<u8> {
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
    pub unsafe fn put(&self, s: &Stream, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.put(s.counts(), to, from, len, false) }
    }

    /// Writes `len` bytes. The source stays as it is until quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), until quiet.
    pub unsafe fn put_nbi(&self, s: &Stream, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.put(s.counts(), to, from, len, true) }
    }

    /// Writes `len` bytes. The source stays as it is until quiet, after which they may still be on
    /// their way: what is told to that PE later comes after them.
    ///
    /// # Safety
    /// As for [`put_nbi`](Self::put_nbi).
    pub unsafe fn send(&self, s: &Stream, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.send(s.counts(), to, from, len) }
    }

    /// Writes `len` bytes after all that the stream has put and sent to that PE before. Quiet does
    /// not wait for it, and that it was lost is not noticed here. The target answers nothing,
    /// which makes this half as expensive for both as a put.
    ///
    /// # Safety
    /// As for [`put`](Self::put).
    pub unsafe fn tell(&self, s: &Stream, to: Remote, from: *const u8, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.tell(s.counts(), to, from, len) }
    }

    /// Reads `len` bytes; they are there on return.
    ///
    /// # Safety
    /// The destination is writable, the source is shared memory of a connected PE.
    pub unsafe fn get(&self, s: &Stream, to: *mut u8, from: Remote, len: usize) {
        let _ = s;
        // SAFETY: the caller's promise.
        unsafe { self.engine.get(None, to, from, len) }
    }

    /// Reads `len` bytes; they are there after quiet.
    ///
    /// # Safety
    /// As for [`get`](Self::get), until quiet.
    pub unsafe fn get_nbi(&self, s: &Stream, to: *mut u8, from: Remote, len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.engine.get(Some(s.counts()), to, from, len) }
    }

    /// Writes `n` blocks of `block` bytes, whose beginnings are `from_step` bytes apart here
    /// and `to_step` bytes there. The source may be changed on return; complete at quiet.
    ///
    /// # Safety
    /// As for [`put`](Self::put), for each block.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn put_blocks(
        &self,
        s: &Stream,
        to: Remote,
        to_step: isize,
        from: *const u8,
        from_step: isize,
        block: usize,
        n: usize,
    ) {
        let blocks = Blocks {
            remote: to,
            remote_step: to_step,
            local: from.cast_mut(),
            local_step: from_step,
            block,
            n,
        };
        // SAFETY: the caller's promise.
        unsafe { self.engine.put_blocks(s.counts(), blocks) }
    }

    /// Reads `n` blocks of `block` bytes, whose beginnings are `from_step` bytes apart there
    /// and `to_step` bytes here; they are there on return.
    ///
    /// # Safety
    /// As for [`get`](Self::get), for each block.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn get_blocks(
        &self,
        s: &Stream,
        to: *mut u8,
        to_step: isize,
        from: Remote,
        from_step: isize,
        block: usize,
        n: usize,
    ) {
        let _ = s;
        let blocks = Blocks {
            remote: from,
            remote_step: from_step,
            local: to,
            local_step: to_step,
            block,
            n,
        };
        // SAFETY: the caller's promise.
        unsafe { self.engine.get_blocks(blocks) }
    }

    /// An atomic operation without result: [`Op::Write`], `Add`, `And`, `Or` or `Xor`.
    /// Complete at quiet.
    pub fn post(&self, s: &Stream, at: Remote, op: Op, width: Width, operand: u64) {
        let atomic = Atomic {
            at,
            op,
            width,
            operand,
            compare: 0,
        };
        self.engine.post(s.counts(), atomic);
    }

    /// An atomic operation that returns what the word was before. `compare` is for
    /// [`Op::CompareSwap`] alone.
    pub fn fetch(
        &self,
        s: &Stream,
        at: Remote,
        op: Op,
        width: Width,
        operand: u64,
        compare: u64,
    ) -> u64 {
        let atomic = Atomic {
            at,
            op,
            width,
            operand,
            compare,
        };
        self.engine.fetch(s.counts(), atomic)
    }

    /// As [`fetch`](Self::fetch); what the word was is at `result`, 4 or 8 bytes by `width`,
    /// after quiet.
    ///
    /// # Safety
    /// The result is writable until quiet.
    #[allow(clippy::too_many_arguments)]
    pub unsafe fn fetch_nbi(
        &self,
        s: &Stream,
        at: Remote,
        op: Op,
        width: Width,
        operand: u64,
        compare: u64,
        result: *mut u8,
    ) {
        let atomic = Atomic {
            at,
            op,
            width,
            operand,
            compare,
        };
        // SAFETY: the caller's promise.
        unsafe { self.engine.fetch_nbi(s.counts(), atomic, result) }
    }

    /// What was put and posted before is delivered, on each PE, before what comes after.
    pub fn fence(&self, s: &Stream) {
        self.engine.gathers.settle(&self.engine);
        s.counts().fence();
    }

    /// Returns when all operations of the stream are complete.
    pub fn quiet(&self, s: &Stream) {
        let counts = s.counts();
        self.engine.wait(|| counts.under_way() == 0);
    }

    /// Returns when all operations of the stream to this PE are complete.
    pub fn quiet_pe(&self, s: &Stream, pe: usize) {
        if let Some(lane) = s.counts().existing(pe) {
            self.engine.wait(|| lane.under_way() == 0);
        }
    }

    /// How many operations to a PE have been completed so far, modulo 2^32: while that moves, the PE
    /// is there.
    pub fn answers(&self, pe: usize) -> u32 {
        let peer = self.engine.peers.get(pe);
        peer.map_or(0, |peer| peer.answers.load(Ordering::Relaxed))
    }

    /// Lets the provider work once: for a thread that waits for memory which a remote PE writes.
    pub fn progress(&self) {
        self.engine.progress();
    }

    /// For a thread that has called [`progress`](Self::progress) and is about to sleep until
    /// [`Events::arrived`]: the helper thread, which stays out of the way of threads that
    /// poll, takes over at once instead of half a millisecond later.
    pub fn hand_over(&self) {
        self.engine.bell.hand_over();
    }

    /// Stops the helper thread and closes everything, as dropping does.
    pub fn close(self) {}
}

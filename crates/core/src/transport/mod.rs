//! The data path: every operation on another PE's memory goes through a [`Transport`], whether the
//! program asked for it or the library needs it itself (locks, collectives, work arrays).
//!
//! Here, and here alone, it is decided whether a PE is *local*, so that its memory is mapped and an
//! operation is a copy or a CPU atomic, or *remote*, so that the operation travels over the fabric.
//! [`Transport::resolve`] makes that decision and resolves the address, once.

pub mod atomic;
mod mailbox;
pub mod request;
pub(crate) mod rma;

pub use rma::copy_blocks;

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Duration;

use ferroshmem_fabric::{Context, Fabric, Remote};

use crate::connection::Connections;
use crate::failure::fatal::fatal;
use crate::internode::{self, Internode};
use crate::job::Attachment;
use crate::memory::{Argument, MemoryKind, SymmetricMemory};
use crate::offload::{self, Owner};
use crate::wait::record::Recorder;
use crate::wait::{WaitReason, signals};
use ferroshmem_layout::{SignalLine, WaitKind};

/// How this PE reaches the memory of all PEs.
#[derive(Debug)]
pub struct Transport {
    job: &'static Attachment,
    /// The symmetric memory of the node's PEs.
    pub memory: SymmetricMemory,
    internode: Option<&'static Internode>,
    /// PEs of other jobs that this PE reaches.
    pub connections: Connections,
    /// Operations of the default context to other nodes.
    pub default_context: Context,
    requests: request::Requests,
}

/// What an operation needs to know of the call that it belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// C name of the routine.
    pub routine: &'static str,
    /// The communication context.
    pub context: &'a Context,
    /// World number of the PE.
    pub pe: usize,
    /// Whether a wait for a remote PE is recorded as the call's: a call within a collective or a lock
    /// leaves the record to that.
    pub records_wait: bool,
}

impl Call<'_> {
    /// An argument of the call, for messages.
    #[inline]
    fn argument<'n>(&self, name: &'n str) -> Argument<'n> {
        Argument { routine: self.routine, name }
    }

    /// Whose the call's copies are.
    #[inline]
    fn owner(&self) -> Owner {
        Owner { context: ptr::from_ref(self.context).addr(), pe: Some(self.pe), ..Owner::UNKNOWN }
    }

    /// Whose it is, of a put.
    #[inline]
    fn putting(&self) -> Owner {
        Owner { putting: Some(self.routine), ..self.owner() }
    }

    /// The same as [`Transport::show_wait`], of the call's PE.
    #[inline]
    fn show_wait(&self) -> Option<Recorder> {
        let reason =
            || WaitReason { members: (self.pe as i32, 0, 1), ..WaitReason::at(WaitKind::Remote, self.routine, 0) };
        self.records_wait.then(|| Recorder::start(&reason()))
    }
}

/// Memory of a PE of another node, and by what it is reached.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    fabric: &'a Fabric,
    context: &'a Context,
    /// Where there.
    pub at: Remote,
}

/// Where a PE's copy of something symmetric is.
#[derive(Debug, Clone, Copy)]
pub enum Location<'a> {
    /// In memory that this process has mapped.
    Local(*mut u8),
    /// On another node.
    Remote(Target<'a>),
}

impl Transport {
    /// The transport of this PE. `internode` is None in a job on one node.
    pub fn new(job: &'static Attachment, memory: SymmetricMemory, internode: Option<&'static Internode>) -> Self {
        let (connections, default_context) = (Connections::default(), Context::aggregating());
        Self { job, memory, internode, connections, default_context, requests: request::Requests::default() }
    }

    /// The job's memory.
    pub fn job(&self) -> &'static Attachment {
        self.job
    }

    /// The connection with other nodes, if the job has several.
    #[inline]
    pub fn internode(&self) -> Option<&'static Internode> {
        self.internode
    }

    /// The connection with other nodes: for callers that have met a PE of another node.
    #[inline]
    pub fn remote(&self) -> &'static Internode {
        self.internode.expect("a job with remote PEs has a connection")
    }

    /// A call of the library's own, on PE `pe`, within `routine`.
    pub fn internal_call(&self, routine: &'static str, pe: usize) -> Call<'_> {
        Call {
            routine,
            context: match self.internode {
                Some(internode) => &internode.context,
                None => &self.default_context,
            },
            pe,
            records_wait: false,
        }
    }

    /// Whether all atomics go through the fabric, also those to local PEs: a provider's atomics may
    /// not be atomic with a CPU's.
    #[inline]
    pub fn atomics_by_fabric(&self) -> bool {
        self.internode.is_some_and(Internode::atomics_by_fabric)
    }

    /// Where PE `call.pe`'s copy of the `len` bytes at `addr` is. An address that is not symmetric ends
    /// the job; `argument` is its name in the prototype.
    #[inline(always)] // a third of what a small put costs
    pub fn locate<'a>(&'a self, call: &Call<'a>, argument: &str, addr: *const c_void, len: usize) -> Location<'a> {
        match self.locate_on_only_node(call, addr, len) {
            Some(copy) => Location::Local(copy),
            None => self.locate_anywhere(call, argument, addr, len, false),
        }
    }

    /// As [`locate`](Self::locate), in a job of one node; None: PEs may be on several or of other jobs, or the address
    /// is not symmetric.
    #[inline(always)] // as `locate`
    fn locate_on_only_node(&self, call: &Call<'_>, addr: *const c_void, len: usize) -> Option<*mut u8> {
        let placement = &self.job.placement;
        if call.pe >= placement.n_pes() || placement.spans_nodes() {
            return None;
        }
        self.memory.space.translate(addr.expose_provenance(), len, call.pe)
    }

    /// As [`resolve`](Self::resolve), out of line, as it is in every operation of every type.
    #[inline(never)]
    fn locate_anywhere<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
        by_fabric: bool,
    ) -> Location<'a> {
        self.resolve(call, argument, addr, len, by_fabric)
    }

    /// As [`locate`](Self::locate), of any job; `by_fabric`: PEs of this node are reached by the fabric, too.
    #[inline(always)] // so that nothing of it goes through memory where words are put and posted
    fn resolve<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
        by_fabric: bool,
    ) -> Location<'a> {
        let (placement, pe) = (&self.job.placement, call.pe);
        if pe >= placement.n_pes() {
            return self.locate_connected(call, argument, addr, len);
        }
        if let Some(index) = placement.local_index(pe).filter(|_| !by_fabric) {
            return Location::Local(self.memory.of_node_peer(call.argument(argument), addr, len, (index, pe)));
        }
        let internode = self.remote();
        let (kind, offset) = self.memory.space.position(addr.addr(), len);
        let segment = match kind {
            MemoryKind::Heap => internode::HEAP,
            MemoryKind::Globals if !internode.runs_other_program(pe) => internode::GLOBALS,
            _ => {
                let other_program = internode.runs_other_program(pe).then_some(pe);
                self.memory.not_symmetric(call.argument(argument), addr.addr(), len, other_program)
            }
        };
        let at = Remote { pe, segment, offset };
        Location::Remote(Target { fabric: internode.fabric(), context: call.context, at })
    }

    /// As [`locate`](Self::locate), for an atomic operation.
    #[inline(always)] // as `locate`
    pub fn locate_atomic<'a>(
        &'a self,
        call: &Call<'a>,
        argument: &str,
        addr: *const c_void,
        len: usize,
    ) -> Location<'a> {
        match self.locate(call, argument, addr, len) {
            Location::Local(_) if self.atomics_by_fabric() => self.locate_anywhere(call, argument, addr, len, true),
            location => location,
        }
    }

    /// PE 0's copy of the word at `addr`, if the job has one node and the word is symmetric.
    #[inline]
    pub fn first_local_word(&self, addr: *const u64) -> Option<&AtomicU64> {
        if self.internode.is_some() {
            return None;
        }
        let space = self.memory.space;
        let word = space.translate(addr.expose_provenance(), size_of::<u64>(), 0)?;
        // SAFETY: eight bytes of symmetric memory, which is mapped; as C requires, they are aligned.
        Some(unsafe { AtomicU64::from_ptr(word.cast()) })
    }

    /// Where the copy is that a PE of a connection has.
    #[cold]
    #[inline(never)]
    fn locate_connected<'a>(&'a self, call: &Call<'a>, name: &str, addr: *const c_void, len: usize) -> Location<'a> {
        let (pe, space) = (call.pe, self.memory.space);
        let address = addr.expose_provenance();
        let found = self.connections.find(pe).and_then(|(c, member)| match (c.pe_of_job(member), c.remote()) {
            (Some(pe), Some(_)) => Some(self.locate_anywhere(&Call { pe, ..*call }, name, addr, len, false)),
            (_, Some(remote)) if !c.is_mapped(member) => {
                let (segment, offset) = remote.position(space.heap_base(), address, len)?;
                let at = Remote { pe: member, segment, offset };
                Some(Location::Remote(Target { fabric: remote.fabric(), context: remote.context(), at }))
            }
            _ => c.translate(space, address, len, member).map(Location::Local),
        });
        found.unwrap_or_else(|| {
            fatal(
                call.routine,
                format_args!(
                    "{name} = {address:#x}: PE {pe}, which is of another job, has no such memory of {len} bytes: give \
                        a global variable of one program for both, memory of a heap as large as its own, or what \
                        shmemx_import returns"
                ),
            )
        })
    }

    /// Completes the operations of a context.
    pub fn quiet(&self, context: &Context) {
        Self::complete_copies(context);
        if let Some(internode) = self.internode {
            internode.fabric().quiet(context);
        }
        if self.requests.have_sequels() {
            self.follow();
            if let Some(internode) = self.internode {
                internode.fabric().quiet(context);
            }
        }
        self.connections.quiet();
    }

    /// Completes the operations of the call's context to its PE.
    pub fn quiet_pe(&self, call: &Call<'_>) {
        offload::complete(&call.owner());
        if let Some(internode) = self.internode {
            let _shown = call.show_wait();
            internode.fabric().quiet_pe(call.context, call.pe);
            if self.requests.have_sequels() {
                self.follow();
                internode.fabric().quiet_pe(call.context, call.pe);
            }
        }
        self.connections.quiet();
    }

    /// Completes the copies of a context that go on after their calls.
    #[inline]
    pub fn complete_copies(context: &Context) {
        if offload::has_pending() {
            offload::complete(&Owner { context: ptr::from_ref(context).addr(), ..Owner::UNKNOWN });
        }
    }

    /// Whether PEs of other nodes access this PE's memory.
    pub fn has_remote(&self) -> bool {
        self.internode.is_some() || self.connections.has_remote()
    }

    /// Where PE `pe`'s copy of `addr` can be loaded and stored; null if it is not symmetric, or the
    /// PE is on another node.
    pub fn pointer(&self, addr: *const c_void, pe: usize) -> *mut c_void {
        if let Some((connection, member)) = self.connections.find(pe) {
            if let (Some(pe), Some(_)) = (connection.pe_of_job(member), connection.remote()) {
                return self.pointer(addr, pe);
            }
            let addr = addr.expose_provenance();
            let copy = connection.translate(self.memory.space, addr, 1, member);
            return copy.map_or(ptr::null_mut(), |copy| copy.cast());
        }
        let index = self.job.placement.local_index(pe);
        let space = self.memory.space;
        let copy = index.and_then(|i| space.translate(addr.expose_provenance(), 1, i));
        copy.map_or(ptr::null_mut(), |copy| copy.cast())
    }

    /// Whether PE `pe` runs another executable, so that globals are not symmetric with it.
    pub fn runs_other_program(&self, pe: usize) -> bool {
        match self.job.placement.local_index(pe) {
            Some(index) => self.memory.space.runs_other_program(index),
            None => self.remote().runs_other_program(pe),
        }
    }

    /// Completes the puts and atomics of the default context, before a synchronisation. That no copy is under way is
    /// read in no order: the fence acquires what helpers have stored.
    #[inline]
    pub fn quiet_default(&self) {
        self.quiet(&self.default_context);
        fence(Ordering::AcqRel);
    }

    /// Orders what this PE has put to PE `call.pe`, in the call's context, before what it does there later.
    pub fn fence(&self, call: &Call<'_>) {
        if call.pe >= self.job.placement.n_pes() {
            if let Some(internode) = self.internode {
                internode.fabric().fence(call.context);
            }
            return self.connections.fence();
        }
        if self.job.placement.local_index(call.pe).is_none() {
            self.remote().fabric().fence(call.context);
        }
    }

    /// Shows, as long as the result lives, that this PE waits for PEs of other nodes in `routine`: for hang reports,
    /// and for the line that says what was waited for when one of them has failed.
    #[inline]
    pub fn show_wait(routine: &str) -> Recorder {
        Recorder::start(&WaitReason::at(WaitKind::Remote, routine, 0))
    }

    /// Where this PE sleeps until a signal arrives.
    pub fn signals(&self) -> &'static SignalLine {
        &self.job.block().signals
    }

    /// Where threads of PE `pe` of this node sleep until a signal arrives; None: it is no such PE.
    pub(super) fn signals_of(&self, pe: usize) -> Option<&'static SignalLine> {
        let is_own = pe < self.job.placement.n_pes();
        let index = is_own.then(|| self.job.placement.local_index(pe)).flatten()?;
        Some(&self.job.control.pe_block(index).signals)
    }

    /// Wakes the threads of PE `pe` that wait for a signal, if it is local: after the update.
    #[inline]
    pub fn notify(&self, pe: usize) {
        if pe >= self.job.placement.n_pes() {
            self.notify_connected(pe);
        } else if let Some(index) = self.job.placement.local_index(pe) {
            signals::notify(&self.job.control.pe_block(index).signals);
        }
    }

    #[cold]
    fn notify_connected(&self, pe: usize) {
        if let Some((connection, member)) = self.connections.find(pe) {
            match connection.signals(&self.job.control, member) {
                Some(signals) => signals::notify(signals),
                None => connection.pe_of_job(member).into_iter().for_each(|pe| self.notify(pe)),
            }
        }
    }

    /// Waits until `condition` gives a result. Sleeps between `sleeps.0`, at first, and `sleeps.1`, at
    /// last, unless the condition's change is notified.
    pub fn wait<R>(
        &self,
        what: &WaitReason<'_>,
        sleeps: (Duration, Duration),
        condition: impl FnMut() -> Option<R>,
    ) -> R {
        let fabric = self.internode.map(Internode::fabric);
        signals::wait(self.signals(), fabric, what, sleeps, condition)
    }

    /// The same until `is_over`: one function for all conditions.
    #[cold]
    #[inline(never)]
    pub fn wait_until(&self, what: &WaitReason<'_>, sleeps: (Duration, Duration), is_over: &mut dyn FnMut() -> bool) {
        self.wait(what, sleeps, || is_over().then_some(()));
    }

    /// Waits for a word that local PEs write and then notify of, and remote PEs write, or for what ends the wait.
    pub fn wait_for_flag(&self, what: &WaitReason<'_>, is_there: impl Fn() -> bool) {
        self.wait_until(what, signals::NOTIFIED, &mut || is_there() || what.is_over());
    }
}

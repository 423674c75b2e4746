//! The data path: every operation on another PE's memory goes through a [`Transport`], whether the
//! program asked for it or the library needs it itself (locks, collectives, work arrays). [`rma`] decides whether the
//! PE is local.

pub mod atomic;
mod blocks;
mod mailbox;
pub mod request;
pub(crate) mod rma;

pub use blocks::copy_blocks;
pub use rma::{Location, Target};

use std::ptr;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use ferroshmem_fabric::Context;

use crate::connection::Connections;
use crate::internode::Internode;
use crate::job::Attachment;
use crate::memory::{Argument, SymmetricMemory};
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

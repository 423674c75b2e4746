//! The library's state between `shmem_init` and `shmem_finalize`.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use ferroshmem_collective::active_set::ActiveSets;
use ferroshmem_collective::nonblocking::Queues;
use ferroshmem_core::constants::{CTX_DEFAULT, CTX_INVALID, PREDEFINED_TEAMS};
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::hooks;
use ferroshmem_core::job;
use ferroshmem_core::node::{self, Node};
use ferroshmem_core::offload::{self, Owner};
use ferroshmem_core::team::{Team, Teams, health, out_of_range};
use ferroshmem_core::transport::Call;
use ferroshmem_fabric as fabric;
use ferroshmem_message::Messages;
use ferroshmem_port::names::Names;
use ferroshmem_port::port::Ports;
use ferroshmem_stream::Streams;

use crate::context::{Context, Contexts};
use crate::failure::detector::FailureDetector;
use crate::lock::{Locks, Owned};

/// All of the library's state while it is initialised.
#[derive(Debug)]
pub struct Runtime {
    /// This PE on its node: what lower modules use.
    pub node: Node,
    /// Teams.
    pub teams: Teams,
    /// Active sets met so far.
    pub active_sets: ActiveSets,
    /// Non-blocking collectives.
    pub collectives: Queues,
    /// Contexts.
    pub contexts: Contexts,
    /// Locks.
    pub locks: Locks,
    /// Notices PEs that fail, in a job on several nodes.
    pub failure_detector: Option<&'static FailureDetector>,
    /// Handle of the group of PEs that this job was started for.
    pub parents: AtomicUsize,
    /// Messages.
    pub messages: Messages,
    /// Streams.
    pub streams: Streams,
    /// Ports that this PE has opened.
    pub ports: Ports,
    /// The names of ports that this PE has published.
    pub names: Names,
    /// Calls of `shmem_init` not yet matched by `shmem_finalize`.
    pub nesting: AtomicU32,
    /// Whether MPI was initialised by this library, which ends it, too.
    pub has_mpi: bool,
}

static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(ptr::null_mut());
static WAS_FINALIZED: AtomicBool = AtomicBool::new(false);

/// Whether a PE of the team of an id has failed.
fn has_team_failed(id: usize) -> bool {
    let team = current().and_then(|rt| rt.teams.by_id(id));
    team.is_some_and(Team::has_failed)
}

/// The runtime, if the library is initialised.
#[inline]
pub fn current() -> Option<&'static Runtime> {
    // SAFETY: null, or a leaked box.
    unsafe { RUNTIME.load(Ordering::Acquire).as_ref() }
}

/// The runtime; a call of routine `name` outside init … finalize ends the program.
#[inline]
pub fn get(name: &str) -> &'static Runtime {
    current().unwrap_or_else(|| not_initialised(name))
}

/// Whether the library was initialised and is not any more.
pub(crate) fn was_finalised() -> bool {
    current().is_none() && WAS_FINALIZED.load(Ordering::Relaxed)
}

#[cold]
fn not_initialised(name: &str) -> ! {
    let when =
        if WAS_FINALIZED.load(Ordering::Relaxed) { "called after shmem_finalize" } else { "called before shmem_init" };
    // Joined only to say which PE this is and to have the launcher end the others.
    let _ = job::join();
    fatal(name, when)
}

/// Makes `runtime` the state that all routines use from now on.
pub(crate) fn begin(runtime: Runtime) -> &'static Runtime {
    // Never freed: another thread may be about to leave a routine that uses it.
    let runtime: &'static Runtime = Box::leak(Box::new(runtime));
    node::set(Some(&runtime.node));
    RUNTIME.store(ptr::from_ref(runtime).cast_mut(), Ordering::Release);
    runtime
}

/// Ends the use of the state.
pub(crate) fn end() {
    RUNTIME.store(ptr::null_mut(), Ordering::Release);
    node::set(None);
    WAS_FINALIZED.store(true, Ordering::Relaxed);
}

impl Runtime {
    /// The call of `routine` on PE `pe` of a context, both of which must be valid.
    #[inline]
    pub fn call(&self, routine: &'static str, context: usize, pe: i32) -> Call<'_> {
        let node = &self.node;
        if context == CTX_DEFAULT {
            if pe as u32 as usize >= node.n_pes {
                self.check_connected(routine, pe);
            }
            return Call { routine, context: &node.transport.default_context, pe: pe as usize, records_wait: true };
        }
        let (context, pe) = self.context_and_pe(routine, context, pe);
        Call { routine, context, pe, records_wait: true }
    }

    /// From now on, waits for PEs end when these fail, which have not up to the count `since`.
    pub fn become_resilient(&self, since: usize) {
        health::set(true);
        for id in self.teams.ids() {
            if let Some(team) = self.teams.by_id(id) {
                team.become_resilient(self.node.job, self.node.transport.internode(), since);
            }
        }
        self.collectives.become_resilient(&self.node, since);
        self.messages.become_resilient(has_team_failed);
        if let Some(hooks) = hooks::get() {
            (hooks.native_resilient)(Owned::word_of(self.node.job, self.node.job.pe));
        }
    }

    /// Gives up what is under way in the predefined teams, in which PEs have failed, before they are
    /// [renewed](Self::renew_world). No other thread uses the library until then.
    pub fn abandon_world(&'static self) {
        self.messages.give_up(&self.node);
        for id in 0..PREDEFINED_TEAMS {
            self.collectives.drain(&self.node, id);
            self.collectives.leave(&self.node, id);
            self.messages.leave_team(&self.node, id);
        }
        self.active_sets.forget();
    }

    /// The predefined teams begin anew, in slots that are zero: other processes have taken the numbers of all PEs that
    /// had failed up to the count `since`.
    pub fn renew_world(&self, since: usize) {
        self.teams.renew(since);
    }

    /// Whether `pe` is a PE of a connection; another number ends the job.
    #[cold]
    #[inline(never)]
    fn check_connected(&self, routine: &str, pe: i32) {
        let (node, connections) = (&self.node, &self.node.transport.connections);
        let number = usize::try_from(pe).ok();
        if number.and_then(|pe| connections.find(pe)).is_some() {
            return;
        }
        if connections.has_been_used() {
            fatal(
                routine,
                format_args!(
                    "PE {pe} is out of range: this job has PEs 0 to {}, and no connected group has this number",
                    node.n_pes - 1
                ),
            );
        }
        out_of_range(routine, pe, node.n_pes, "job")
    }

    /// A context that the program created, and the world number of a PE of its team. Out of line, so
    /// that calls on the default context stay short.
    #[inline(never)]
    fn context_and_pe(&self, routine: &str, context: usize, pe: i32) -> (&fabric::Context, usize) {
        let context = self.contexts.find(routine, context);
        let team = self.team_of(routine, context);
        let connection = team.connection().filter(|_| context.of_group);
        let number = connection.map_or_else(
            || team.world_pe(routine, pe),
            |connection| {
                let others = connection.others();
                match usize::try_from(pe) {
                    Ok(pe) if pe < others.len() => connection.first + others.start + pe,
                    _ => out_of_range(routine, pe, others.len(), "group"),
                }
            },
        );
        (&context.stream, number)
    }

    /// Whether a context, which must be valid, numbers the PEs of a group.
    pub fn numbers_group(&self, routine: &str, context: usize) -> bool {
        context != CTX_DEFAULT && self.contexts.find(routine, context).of_group
    }

    /// The team that a context numbers PEs by.
    fn team_of(&self, routine: &str, context: &Context) -> &Team {
        let team = self.teams.get(context.team);
        team.unwrap_or_else(|| fatal(routine, "the context's team is destroyed: destroy its contexts first"))
    }

    /// The team of a context, which must be valid.
    pub fn team_of_context(&self, routine: &str, context: usize) -> &Team {
        if context == CTX_DEFAULT {
            return self.teams.world();
        }
        self.team_of(routine, self.contexts.find(routine, context))
    }

    /// The operations of a context, which must be valid, to other nodes.
    pub fn context(&self, routine: &str, context: usize) -> &fabric::Context {
        if context == CTX_DEFAULT {
            return &self.node.transport.default_context;
        }
        &self.contexts.find(routine, context).stream
    }

    /// Completes the operations of all contexts.
    pub fn quiet_all(&self) {
        let transport = &self.node.transport;
        offload::complete(&Owner::UNKNOWN);
        transport.quiet_default();
        for context in self.contexts.iter() {
            transport.quiet(&context.stream);
        }
    }

    /// Destroys a context; the default context cannot be.
    pub fn destroy_context(&self, routine: &str, context: usize) {
        match context {
            CTX_INVALID => {}
            CTX_DEFAULT => fatal(routine, "SHMEM_CTX_DEFAULT cannot be destroyed: remove this call"),
            _ => {
                self.node.transport.quiet(&self.contexts.find(routine, context).stream);
                self.contexts.destroy(routine, context);
            }
        }
    }
}

//! Persistent requests: collectives whose arguments are looked at once, and which start many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Team;
use ferroshmem_core::wait::progress;

use super::Queues;
use super::neighbors::Neighbors;
use super::queue::{Queue, Start, lock};
use super::strided::Strided;
use crate::graph::{Edges, Graph};

/// A collective that starts many times.
#[derive(Debug)]
pub(super) struct Persistent {
    request: u64,
    plan: Plan,
    /// The operation that was started last, above it a bit; 0 once it has ended.
    started: AtomicU64,
}

/// What starts.
#[derive(Debug)]
pub(super) enum Plan {
    /// A collective of a team.
    Team { queue: Arc<Queue>, start: Start },
    /// An exchange with the neighbours in a graph.
    Neighbors(Arc<Neighbors>),
}

/// What has started, and its number.
pub(super) enum Started<'a> {
    Team(&'a Queue, u32),
    Neighbors(&'a Neighbors, u64),
}

/// A bit above those of an operation's number, and of a round's.
const STARTED: u64 = 1 << 63;
/// The lowest bit of a request's index: there are none below, where other requests have the id of their team.
const INDEX: u32 = 16;
/// The lowest bit of what distinguishes a request that is freed from a new one with the same index.
const COUNT: u32 = 40;

/// Whether a request is persistent.
#[inline]
pub(super) fn is_persistent(request: u64) -> bool {
    request as u16 == 0 && request != 0
}

fn index(request: u64) -> usize {
    (request as usize & ((1 << COUNT) - 1)) >> INDEX
}

/// The place of a graph, by its handle.
fn place_of(graph: usize) -> Option<usize> {
    (graph & ((1 << INDEX) - 1)).checked_sub(1)
}

impl Persistent {
    /// Whether it has started and not ended.
    #[inline]
    pub(super) fn is_active(&self) -> bool {
        self.started.load(Ordering::Relaxed) != 0
    }

    /// What has started and not ended.
    #[inline]
    pub(super) fn started(&self) -> Option<Started<'_>> {
        let started = self.started.load(Ordering::Relaxed);
        (started != 0).then(|| match &self.plan {
            Plan::Team { queue, .. } => Started::Team(queue, started as u32),
            Plan::Neighbors(neighbors) => Started::Neighbors(neighbors, started & !STARTED),
        })
    }

    /// Waits until what has started is complete, and ends it.
    #[inline]
    pub(super) fn wait(&self, name: &str, node: &'static Node) {
        match self.started() {
            None => return,
            Some(Started::Neighbors(neighbors, round)) => neighbors.wait(name, node, round),
            Some(Started::Team(queue, number)) => queue.complete(node, number),
        }
        self.end();
    }

    /// Whether a member has failed of those with whom it is.
    pub(super) fn has_failed(&self) -> bool {
        match &self.plan {
            Plan::Team { queue, .. } => queue.shadow.has_failed(),
            Plan::Neighbors(neighbors) => neighbors.has_failed(),
        }
    }

    /// Ends what has started.
    #[inline]
    pub(super) fn end(&self) {
        self.started.store(0, Ordering::Relaxed);
    }
}

impl Queues {
    /// Makes a persistent request of an exchange between neighbours; None if a member has failed. Collective over the
    /// graph's team.
    ///
    /// # Safety
    /// The arrays are as the exchange needs them while the request has started.
    pub unsafe fn init_neighbors(
        &self,
        name: &'static str,
        node: &'static Node,
        (team, graph): (&Team, &Graph),
        arrays: (&[Strided], &[Strided]),
    ) -> Option<u64> {
        self.reclaim(0);
        let neighbors = Arc::new(Neighbors::new(node, name, (team, graph), arrays)?);
        lock(&self.neighbors).push(neighbors.clone());
        progress::COLLECTIVES.fetch_add(1, Ordering::Relaxed);
        Some(self.insert(name, Plan::Neighbors(neighbors)))
    }

    pub(super) fn insert(&self, name: &str, plan: Plan) -> u64 {
        let count = self.inits.fetch_add(1, Ordering::Relaxed);
        let mut request = 0;
        self.persistent.insert(|at| {
            request = count << COUNT | (at as u64 + 1) << INDEX;
            if index(request) != at + 1 {
                fatal(name, "there are too many persistent requests: free some");
            }
            Persistent { request, plan, started: AtomicU64::new(0) }
        });
        request
    }

    /// Adds a graph; its handle, which is not 0.
    pub fn add_graph(&self, team: usize, since: usize, edges: Edges) -> usize {
        let count = self.inits.fetch_add(1, Ordering::Relaxed) as usize;
        let mut handle = 0;
        self.graphs.insert(|at| {
            handle = count << INDEX | (at + 1);
            Graph { handle, team, since, edges, requests: AtomicUsize::new(0) }
        });
        handle
    }

    /// A graph, by its handle.
    pub fn graph(&self, name: &str, handle: usize) -> &Graph {
        let at = place_of(handle);
        let found = at.and_then(|at| self.graphs.get(at)).filter(|graph| graph.handle == handle);
        found.unwrap_or_else(|| {
            fatal(name, format_args!("{handle:#x} is no graph of this PE: destroyed, or never created"))
        })
    }

    /// Ends a graph, whose requests must be freed. Collective over its team.
    pub fn destroy_graph(&self, name: &'static str, node: &Node, team: &Team, graph: &Graph) {
        let requests = graph.requests.load(Ordering::Relaxed);
        if requests > 0 {
            fatal(name, format_args!("{requests} requests of the graph are not freed: call shmemx_req_free before"));
        }
        if let Some(internode) = node.transport.internode() {
            internode.fabric().quiet(&internode.context);
        }
        // After it, no neighbour writes to this PE's memory of the graph any more. One whose number another process has
        // taken knows of no graph.
        if team.since() == graph.since {
            Group::of_team(node, name, team).sync();
        }
        self.reclaim(graph.handle);
        let at = place_of(graph.handle).expect("a graph has a place");
        self.graphs.remove(at);
        self.graphs.give_back(at);
    }

    /// Forgets freed exchanges, and gives their memory back: those of a graph that has ended, and those to which no
    /// neighbour writes any more.
    #[inline(never)]
    fn reclaim(&self, ended: usize) {
        lock(&self.neighbors).retain(|neighbors| {
            let is_freed = neighbors.is_freed.load(Ordering::Relaxed);
            let is_unused = is_freed && (neighbors.graph == ended || neighbors.is_forgotten());
            if is_unused {
                neighbors.give_back();
            }
            !is_unused
        });
    }

    /// A persistent request.
    #[inline]
    pub(super) fn persistent(&self, name: &str, request: u64) -> &Persistent {
        let found = index(request).checked_sub(1).and_then(|index| self.persistent.get(index));
        found.filter(|found| found.request == request && is_persistent(request)).unwrap_or_else(|| {
            fatal(name, "the request is not persistent, or is freed: make one by a routine whose name ends in _init")
        })
    }

    /// The same, which must not have started.
    fn inactive(&self, name: &str, request: u64) -> &Persistent {
        let persistent = self.persistent(name, request);
        if persistent.is_active() {
            fatal(name, "the request has started, and not ended yet: call shmemx_req_wait before")
        }
        persistent
    }

    /// Starts the collective of a persistent request, which must not have started.
    pub fn start(&self, name: &str, node: &'static Node, request: u64) {
        let persistent = self.inactive(name, request);
        let Persistent { plan, started, .. } = persistent;
        let (queue, start) = match plan {
            Plan::Team { queue, start } => (queue, start),
            Plan::Neighbors(neighbors) => {
                // SAFETY: the caller of `init_neighbors` has promised the arrays.
                let round = unsafe { neighbors.start(node) };
                return started.store(STARTED | round, Ordering::Relaxed);
            }
        };
        if queue.has_ended.load(Ordering::Relaxed) {
            // Waits say so.
            if queue.shadow.has_failed() {
                return;
            }
            fatal(name, "the team of the request is destroyed: make the request anew for another one");
        }
        // SAFETY: the caller of `begin` has promised the arrays.
        let number = unsafe { queue.start(node, start) };
        started.store(STARTED | u64::from(number), Ordering::Relaxed);
    }

    /// Frees a request, whose collective, if it is not persistent, goes on.
    pub fn free(&self, name: &str, request: u64) {
        if is_persistent(request) {
            let persistent = self.inactive(name, request);
            if let Plan::Neighbors(neighbors) = &persistent.plan {
                self.graph(name, neighbors.graph).requests.fetch_sub(1, Ordering::Relaxed);
                progress::COLLECTIVES.fetch_sub(1, Ordering::Relaxed);
                neighbors.is_freed.store(true, Ordering::Relaxed);
                self.reclaim(0);
            }
            let freed = index(persistent.request) - 1;
            self.persistent.remove(freed);
            self.persistent.give_back(freed);
        }
    }
}

//! Persistent requests: collectives whose arguments are looked at once, and which start many times.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::group::Group;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Team;
use ferroshmem_layout::WaitKind;

use super::exchange::{Arrays, Combination, Exchange};
use super::{Operation, Queue, Queues};

/// A collective that starts many times.
#[derive(Debug)]
pub(super) struct Persistent {
    request: u64,
    pub(super) queue: Arc<Queue>,
    operation: Operation,
    exchange: Option<Box<Exchange<'static>>>,
    /// The operation that was started last, above it a bit; 0 once it has ended.
    started: AtomicU64,
}

/// A bit above those of an operation's number.
const STARTED: u64 = 1 << 32;
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

impl Persistent {
    /// The number of the operation that has started and not ended.
    #[inline]
    pub(super) fn number(&self) -> Option<u32> {
        let started = self.started.load(Ordering::Relaxed);
        (started != 0).then_some(started as u32)
    }

    /// Waits until what has started is complete, and ends it.
    #[inline]
    pub(super) fn wait(&self, node: &'static Node) {
        /// Some times what a flag takes from a PE that has its own core.
        const POLLS: u32 = 100;

        if let Some(number) = self.number() {
            // Without the lock, which would come between the flags of two PEs that meet here.
            if let Some(exchange) = &self.exchange
                && (0..POLLS).any(|_| exchange.is_complete())
                && let Some(mut execution) = self.queue.try_execution()
            {
                self.queue.end_exchange(&mut execution);
            }
            self.queue.complete(node, number);
            self.end();
        }
    }

    /// Ends what has started.
    #[inline]
    pub(super) fn end(&self) {
        self.started.store(0, Ordering::Relaxed);
    }
}

impl Queues {
    /// Makes a persistent request of a collective of the team; with `exchange`, one of the name may be executed by an
    /// exchange of these arrays.
    ///
    /// # Safety
    /// The arrays are as the collective needs them while the request has started.
    pub unsafe fn init(
        &self,
        name: &'static str,
        node: &'static Node,
        team: &Team,
        operation: Operation,
        exchange: Option<(Combination, Arrays)>,
    ) -> u64 {
        let queue = self.queue(node, team);
        // SAFETY: the request has the queue, which no one moves, until its exchange is dropped.
        let shadow: &'static Team = unsafe { &*ptr::from_ref(&queue.shadow) };
        let exchange = exchange.filter(|_| shadow.hierarchy.is_none() && !node.settings.check);
        let exchange = exchange.and_then(|(result, arrays)| {
            Exchange::new(Group::of_node_group(node, name, shadow, WaitKind::Team), result, arrays).map(Box::new)
        });
        let operation = exchange.as_deref().map_or(operation, |exchange| {
            // SAFETY: a request that has started is not freed.
            let exchange: &'static Exchange<'static> = unsafe { &*ptr::from_ref(exchange) };
            Operation::new(0, move |_, shadow| {
                shadow.enter();
                // SAFETY: the caller of `init` has promised the arrays.
                unsafe {
                    exchange.begin();
                    exchange.wait();
                    exchange.end();
                }
            })
        });
        let count = self.inits.fetch_add(1, Ordering::Relaxed);
        let mut request = 0;
        self.persistent.insert(|at| {
            request = count << COUNT | (at as u64 + 1) << INDEX;
            if index(request) != at + 1 {
                fatal(name, "there are too many persistent requests: free some");
            }
            Persistent { request, queue: queue.clone(), operation, exchange, started: AtomicU64::new(0) }
        });
        request
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
        if persistent.number().is_some() {
            fatal(name, "the request has started, and not ended yet: call shmemx_req_wait before")
        }
        persistent
    }

    /// Starts the collective of a persistent request, which must not have started.
    pub fn start(&self, name: &str, node: &'static Node, request: u64) {
        let persistent = self.inactive(name, request);
        let Persistent { queue, exchange, operation, started, .. } = persistent;
        if queue.has_ended.load(Ordering::Relaxed) {
            fatal(name, "the team of the request is destroyed: make the request anew for another one");
        }
        let number = match exchange {
            // SAFETY: the caller of `init` has promised the arrays; a request that has started is not freed.
            Some(exchange) => unsafe { queue.begin_exchange(exchange) },
            None => None,
        };
        let number = number.unwrap_or_else(|| queue.begin(node, *operation));
        started.store(STARTED | u64::from(number), Ordering::Relaxed);
    }

    /// Frees a request, whose collective, if it is not persistent, goes on.
    pub fn free(&self, name: &str, request: u64) {
        if is_persistent(request) {
            let freed = index(self.inactive(name, request).request) - 1;
            self.persistent.remove(freed);
            self.persistent.give_back(freed);
        }
    }
}

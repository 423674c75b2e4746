//! Which nodes of a resilient job go on: [`Membership`] by the words that leaders write to each other.

use std::mem::offset_of;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::failure::fatal;
use ferroshmem_core::internode::Internode;
use ferroshmem_core::job::{Attachment, mailboxes};
use ferroshmem_fabric::Context;
use ferroshmem_layout::{PeState, StatusArea};
use rustix::time::{ClockId, clock_gettime};

use super::membership::{Membership, Times};
use super::notice::{Cause, PeFailure};
use super::{failed_pes, node_watch};

/// The part of a PE, which may lead its node.
#[derive(Debug)]
pub(super) struct NodeQuorum {
    /// Of ballots, which must not wait behind long puts.
    ballots: Context,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of a PE that leads its node.
    nodes: Option<Nodes>,
    has_ended: bool,
}

/// What the leader of a node knows of all nodes.
#[derive(Debug)]
struct Nodes {
    membership: Membership,
    /// Of so many failures.
    failures: usize,
    /// None: a node is lost.
    leaders: Vec<Option<usize>>,
}

impl Default for NodeQuorum {
    fn default() -> Self {
        let ballots = Context::default();
        ballots.use_last_endpoint();
        Self { ballots, state: Mutex::default() }
    }
}

/// Until when this node may go on.
fn lease_of(internode: &Internode) -> &'static AtomicU64 {
    &internode.mailboxes.status(0).lease
}

/// The job becomes resilient once all PEs have called this: until then, its node needs no other one.
pub(super) fn begin_lease(job: &Attachment, internode: &Internode, times: Times) {
    // Of two nodes, the first never needs the other.
    let is_free = job.placement.nodes() == 2 && job.placement.of(job.pe).node == 0;
    if !is_free {
        let until = boot_ms() + times.lease().as_millis() as u64;
        lease_of(internode).fetch_max(until, Ordering::AcqRel);
    }
}

impl NodeQuorum {
    /// All PEs have come to the end of the job: none needs a lease any more.
    pub(super) fn end(&self, internode: &Internode) {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        lease_of(internode).store(0, Ordering::Release);
        *state = State { nodes: None, has_ended: true };
    }

    /// Ends this node if it is cut off, and goes on without nodes that are. What [`Membership::tells_of`] says, and a
    /// failure that ends the job.
    #[cold]
    #[inline(never)]
    pub(super) fn look(&self, job: &Attachment, internode: &Internode, times: Times) -> (usize, Option<PeFailure>) {
        let (node, now) = (job.placement.of(job.pe).node as usize, boot_ms());
        let lease = lease_of(internode);
        let until = lease.load(Ordering::Acquire);
        if until != 0 && now > until {
            end_node(job, lease);
        }
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        if failed_pes::leader(job, node) != Some(job.pe) || state.has_ended {
            return (0, None);
        }
        let nodes = job.placement.nodes();
        let ballots = &internode.mailboxes.status(job.index).ballots[..nodes];
        let Nodes { membership, failures, leaders } = state.nodes.get_or_insert_with(|| {
            let membership = Membership::new(node, times, now, ballots);
            Nodes { membership, failures: usize::MAX, leaders: Vec::new() }
        });
        let count = job.control.failures().count();
        if *failures != count {
            *failures = count;
            *leaders = (0..nodes).map(|node| failed_pes::leader(job, node)).collect();
            (0..nodes).filter(|node| leaders[*node].is_none()).for_each(|node| membership.lose(node));
        }
        let lost = membership.look(now, ballots, lease);
        for (other, leader) in leaders.iter().enumerate() {
            if let (Some(leader), Some(ballot)) = (leader, membership.ballot_for(other, now)) {
                let offset = offset_of!(StatusArea, ballots) + node * size_of::<u64>();
                let at = Internode::mailbox(*leader, mailboxes::STATUS + offset);
                let from = (&raw const ballot).cast();
                // SAFETY: the word is readable, and may be reused on return; the status area is the library's.
                if unsafe { internode.fabric().try_put(&self.ballots, at, from, size_of::<u64>()) } {
                    membership.told(other, now);
                }
            }
        }
        let silent = |node: usize| {
            let pe = job.placement.first_of_nodes()[node];
            PeFailure { pe, cause: Cause::Silent, status: 0 }
        };
        let ends = lost.into_iter().find(|node| !go_on_without(job, *node));
        (membership.tells_of(), ends.map(silent))
    }
}

/// A node is lost; whether the job goes on without its PEs.
fn go_on_without(job: &Attachment, node: usize) -> bool {
    if node_watch::is_connected() {
        return false;
    }
    let pes = job.placement.pes_of(node as u32).iter().filter(|pe| failed_pes::record(job, **pe as usize));
    let names = pes.map(|pe| format!("PE {pe}")).collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        let host = job.host_of(job.placement.first_of_nodes()[node] as usize);
        let (me, why) = (job.pe, Cause::Silent);
        fatal::print_line(&format!("ferroshmem: PE {me}: node {host} {why}; the job goes on without {names}"));
    }
    true
}

/// Ends this PE, whose node has no lease any more; the first of a node says so.
fn end_node(job: &Attachment, lease: &AtomicU64) -> ! {
    /// Long ago.
    const SAID: u64 = 1;

    // To the others of the node, it has not failed.
    job.block().state.store(PeState::GlobalExit as u32, Ordering::Release);
    if lease.swap(SAID, Ordering::AcqRel) != SAID {
        let (pe, host, pes) = (job.pe, job.host_of(job.pe), job.placement.local_pes().len());
        let why = "is cut off from most nodes of the job, or was stopped, and ends";
        fatal::print_line(&format!("ferroshmem: PE {pe}: this node, {host}, of {pes} PEs, {why}"));
    }
    fatal::exit()
}

/// Milliseconds of a clock that also counts while the machine is suspended.
fn boot_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

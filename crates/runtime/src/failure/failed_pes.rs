//! How the PEs of several nodes learn which PEs of a resilient job have failed.
//!
//! PEs of a node find each other's end ([`super::node_watch`]) and record it in the node's list. The first PE of the
//! node that is left tells the PEs of all other nodes, each by a byte of its own, which those add to the lists of their
//! nodes. Where it fails before it has told all, the next one begins anew with all failures of the node. So all PEs
//! learn of a failure as long as a PE of its node lives; of those of other nodes, by the node with the quorum
//! ([`super::membership`]).

use std::mem::offset_of;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::internode::Internode;
use ferroshmem_core::job::{Attachment, mailboxes};
use ferroshmem_core::node::Node;
use ferroshmem_core::wait::WaitReason;
use ferroshmem_core::wait::signals::UNNOTIFIED;
use ferroshmem_fabric::Context;
use ferroshmem_layout::{Fate, PeState, StatusArea, WaitKind};

/// How far a PE is with its node's list.
#[derive(Debug, Default)]
pub(super) struct FailedPes(Mutex<Progress>);

#[derive(Debug, Default)]
struct Progress {
    /// Failures that this PE's fabric knows.
    known: usize,
    /// Failures that this PE, once it is the first of its node, has told each PE of another node.
    told: Vec<usize>,
    /// All PEs have been told so many.
    told_to_all: usize,
    /// What [`super::membership::Membership::tells_of`] was then.
    tells_of: usize,
}

/// Whether a PE has failed, and no other process has its number, as this PE knows.
pub fn has_failed(job: &Attachment, pe: usize) -> bool {
    match job.placement.local_index(pe) {
        Some(index) => {
            let state = job.control.pe_block(index).state.load(Ordering::Acquire);
            PeState::from_word(state) == PeState::Failed
        }
        None => {
            let failures = job.control.failures();
            failures.between(0, failures.count()).any(|failed| failed == pe)
        }
    }
}

/// The first PE of a node that is left.
pub(super) fn leader(job: &Attachment, node: usize) -> Option<usize> {
    let mut pes = job.placement.pes_of(node as u32).iter().map(|pe| *pe as usize);
    pes.find(|pe| !has_failed(job, *pe))
}

/// The job goes on without a PE; whether this is the first to record it.
pub(super) fn record(job: &Attachment, pe: usize) -> bool {
    let recorded = job.control.failures().record_once(pe);
    recorded.unwrap_or_else(|| fatal("shmemx_resilient", "more PEs have failed than a job can lose"))
}

/// Where a PE is told what has become of another.
fn fate_at(of: usize) -> usize {
    mailboxes::STATUS + offset_of!(StatusArea, fates) + of
}

impl FailedPes {
    /// Learns what other PEs have told, and tells what this node has found, and of nodes that are lost, if it tells of
    /// any ([`super::membership::Membership::tells_of`]). Does not wait.
    pub(super) fn tick(&self, job: &Attachment, internode: &Internode, context: &Context, tells_of: usize) {
        let failures = job.control.failures();
        let fates = &internode.mailboxes.status(job.index).fates;
        for (pe, fate) in fates.iter().enumerate().take(job.n_pes()) {
            if fate.load(Ordering::Relaxed) == Fate::Failed as u8 {
                fate.store(0, Ordering::Relaxed);
                record(job, pe);
            }
        }
        let Ok(mut progress) = self.0.try_lock() else {
            return;
        };
        let count = failures.count();
        for pe in failures.between(progress.known, count) {
            internode.fabric().lose(pe);
        }
        progress.known = count;
        if progress.tells_of != tells_of {
            // Who has told of those before may not have told all.
            *progress = Progress { known: count, tells_of, ..Progress::default() };
        }
        let node = job.placement.of(job.pe).node as usize;
        if progress.told_to_all < count && leader(job, node) == Some(job.pe) {
            progress.tell(job, internode, context);
        }
    }
}

impl Progress {
    /// Tells the PEs of other nodes of the failures of this node, as far as there is room now: one that has failed and
    /// was never connected has none, and must not keep it from others.
    fn tell(&mut self, job: &Attachment, internode: &Internode, context: &Context) {
        let failures = job.control.failures();
        self.told.resize(job.n_pes(), 0);
        let is_local = |pe| job.placement.local_index(pe).is_some();
        let has_leader = |pe| leader(job, job.placement.of(pe).node as usize).is_some();
        let all: Vec<usize> = failures.between(0, self.known).collect();
        let is_told: Vec<bool> =
            all.iter().map(|failed| is_local(*failed) || self.tells_of > 0 && !has_leader(*failed)).collect();
        for (pe, told) in self.told.iter_mut().enumerate().filter(|(pe, _)| !is_local(*pe)) {
            let tell = |failed: usize| {
                let (at, fate) = (Internode::mailbox(pe, fate_at(failed)), [Fate::Failed as u8]);
                // SAFETY: the byte there is the library's, and this one may be used again on return.
                unsafe { internode.fabric().try_put(context, at, fate.as_ptr(), fate.len()) }
            };
            let new = *told..self.known;
            *told += new.take_while(|i| !is_told[*i] || tell(all[*i])).count();
        }
        let others = self.told.iter().enumerate().filter(|(pe, _)| !is_local(*pe));
        self.told_to_all = others.map(|(_, told)| *told).min().unwrap_or(self.known);
    }
}

/// Tells the PEs of all other nodes what becomes of this one.
fn announce(job: &Attachment, internode: &Internode, fate: Fate) {
    let (at, fate) = (fate_at(job.pe), [fate as u8]);
    for pe in (0..job.n_pes()).filter(|pe| job.placement.local_index(*pe).is_none()) {
        // SAFETY: the byte there is the library's, and this one may be used again on return.
        unsafe { internode.fabric().put(&internode.context, Internode::mailbox(pe, at), fate.as_ptr(), fate.len()) };
    }
    internode.fabric().quiet(&internode.context);
}

/// Connects this PE with those of all other nodes, before any may fail. libfabric's TCP loses messages where two PEs
/// connect with each other at once after one of them has lost another peer (docs/decisions/tcp-without-rxm.md).
pub fn connect_all(job: &Attachment, internode: &Internode) {
    announce(job, internode, Fate::Lives);
}

/// Of a PE that has ended its part of the job: returns once all others have, too, or have failed. From then on, none of
/// them needs anything of this one.
///
/// It tells other nodes first: so if a PE of its own node knows, and leaves, all know.
#[cold]
pub fn leave(node: &Node, name: &'static str) {
    let Some(internode) = node.transport.internode() else {
        return;
    };
    let job = node.job;
    announce(job, internode, Fate::Left);
    for index in 0..job.placement.local_pes().len() {
        internode.mailboxes.status(index).fates[node.me].store(Fate::Left as u8, Ordering::Release);
    }
    let fates = &internode.mailboxes.status(job.index).fates;
    let mut others = (0..node.n_pes).peekable();
    let has_left = |pe: &usize| fates[*pe].load(Ordering::Acquire) == Fate::Left as u8 || has_failed(job, *pe);
    let reason = WaitReason::at(WaitKind::Team, name, 0);
    node.transport.wait_until(&reason, UNNOTIFIED, &mut || {
        while others.next_if(has_left).is_some() {}
        others.peek().is_none()
    });
}

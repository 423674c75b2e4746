//! A team of several node groups, as the groups of one call on it use it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::internode::Internode;
use crate::job::mailboxes;
use crate::node::Node;
use crate::team::{Hierarchy, Team};
use ferroshmem_layout::{MailboxPage, TeamMailbox, WaitKind};

/// A team of several node groups, in one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct HierarchicalTeam<'a> {
    pub(super) node: &'a Node,
    pub(super) internode: &'static Internode,
    pub(super) team: &'a Team,
    pub(super) hierarchy: &'a Hierarchy,
    /// How a wait of this team is reported.
    pub(super) kind: WaitKind,
}

impl HierarchicalTeam<'_> {
    /// How a wait for other members is reported: kind, address, team and number of the collective.
    pub(super) fn wait(&self) -> (WaitKind, usize, u32, u32) {
        let own = &self.team.own_slot.own;
        let entered = own.entered.load(Ordering::Relaxed);
        (self.kind, 0, self.team.id as u32, entered)
    }

    pub(super) fn page(&self) -> &'static MailboxPage {
        let mailboxes = &self.internode.mailboxes;
        &mailboxes.team_mailbox(self.node.job.index, self.team.id).all
    }

    /// The value that this PE publishes in epochs of a parity.
    pub(super) fn own_value(&self, parity: usize) -> &'static AtomicU64 {
        &self.page().value[parity]
    }

    /// Word `i` of the description of this PE's call.
    pub(super) fn call_word(&self, i: usize) -> &'static AtomicU64 {
        &self.page().call[i]
    }

    /// Reads the value that a member has published in an epoch of a parity.
    pub(super) fn read_value(&self, member: usize, parity: usize) -> u64 {
        let at = std::mem::offset_of!(MailboxPage, value) + parity * size_of::<u64>();
        self.read(member, at)
    }

    /// Reads word `i` of the description of a member's call.
    pub(super) fn read_call_word(&self, member: usize, i: usize) -> u64 {
        let at = std::mem::offset_of!(MailboxPage, call) + i * size_of::<u64>();
        self.read(member, at)
    }

    fn read(&self, member: usize, at: usize) -> u64 {
        let page = std::mem::offset_of!(TeamMailbox, all);
        let at = mailboxes::team_mailbox_offset(self.team.id) + page + at;
        let pe = self.team.members.pe(member);
        self.node.transport.read_mailbox(pe, at)
    }
}

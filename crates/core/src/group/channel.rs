//! How the members of a group signal each other and exchange small values.

use std::ptr::NonNull;

use ferroshmem_tuning::DecisionTable;

use super::hierarchy::HierarchicalTeam;
use super::mailbox::MailboxChannel;
use super::work_array::WorkArray;
use crate::team::{Fragile, LocalMembers, Position};
use ferroshmem_layout::{TeamSlot, WaitKind};

/// How the members of a group signal each other.
#[derive(Debug)]
#[repr(u8)] // a tag that one instruction compares
pub(super) enum Channel<'a> {
    /// By slots in shared memory: all members are in one node group.
    Slots(Slots<'a>),
    /// By mailboxes: some members are on other nodes.
    Mailboxes(MailboxChannel<'a>),
    /// A team of several node groups: by slots within them, by mailboxes between them.
    Hierarchy(HierarchicalTeam<'a>),
    /// By the caller's work array: an active set that has no team yet.
    WorkArray(WorkArray<'a>),
}

impl Channel<'_> {
    /// What may end waits for the members of a team.
    #[inline(always)]
    pub(super) fn fragile(&self) -> Option<&Fragile> {
        match self {
            Self::Slots(slots) => slots.fragile,
            other => other.fragile_between_nodes(),
        }
    }

    #[cold]
    #[inline(never)]
    fn fragile_between_nodes(&self) -> Option<&Fragile> {
        match self {
            Self::Mailboxes(MailboxChannel { team, .. }) | Self::Hierarchy(team) => team.team.fragile.get(),
            Self::Slots(_) | Self::WorkArray(_) => None,
        }
    }
}

/// The slots of a team, one per member.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slots<'a> {
    /// The slot of member 0.
    pub(super) first: NonNull<TeamSlot>,
    /// Bytes from one member's slot to the next's; 0 if the members are a list.
    pub(super) step: isize,
    /// The members by their numbers on the node, which are also those of their slots.
    pub(super) local: &'a LocalMembers,
    /// How far this PE is.
    pub(super) position: &'a Position,
    pub(super) decisions: &'a DecisionTable,
    /// How a wait of this group is reported.
    pub(super) kind: WaitKind,
    pub(super) team: u32,
    /// What may end waits for the members.
    pub(super) fragile: Option<&'a Fragile>,
}

impl Slots<'_> {
    /// Member `member`'s slot.
    #[inline]
    pub(super) fn of(&self, member: usize) -> &TeamSlot {
        let distance = match self.step {
            0 => self.listed(member),
            step => step * member as isize,
        };
        // SAFETY: there is a slot for each member, so far from the first one, and it is never unmapped; all
        // its fields are atomics, or cells that are accessed by raw pointers.
        unsafe { self.first.byte_offset(distance).as_ref() }
    }

    /// Bytes from the first member's slot to another's. Out of line, for the sake of sequences.
    #[cold]
    #[inline(never)]
    fn listed(&self, member: usize) -> isize {
        (self.local.pe(member) as isize - self.local.pe(0) as isize) * size_of::<TeamSlot>() as isize
    }
}

//! A collective call whose members are not in one node group.

use std::ops::Range;

use ferroshmem_core::group::{Group, MemberAddresses, Subgroups};
use ferroshmem_core::node::Node;

use crate::from_on;

/// A collective call whose members are not in one node group.
pub struct InternodeCall<'a> {
    /// This PE on its node.
    pub node: &'a Node,
    /// The members.
    pub group: &'a Group<'a>,
    /// The groups within the team; None for an active set without a team.
    pub subgroups: Option<Subgroups<'a>>,
}

impl InternodeCall<'_> {
    /// All members, for puts and gets.
    pub(super) fn all(&self) -> &Group<'_> {
        self.subgroups.as_ref().map_or(self.group, |subgroups| &subgroups.all)
    }

    /// Synchronises all members.
    pub(super) fn sync(&self) {
        match &self.subgroups {
            Some(subgroups) => subgroups.sync(),
            None => self.group.sync(),
        }
    }

    /// Completes this member's puts and gets.
    pub(super) fn quiet(&self) {
        let internode = self.node.transport.remote();
        internode.fabric().quiet(&internode.context);
    }

    /// Completes this member's puts, and synchronises for the last time.
    pub(super) fn leave(&self) {
        self.quiet();
        match &self.subgroups {
            Some(subgroups) => subgroups.sync(),
            None => self.group.leave(),
        }
    }

    /// The members' copies of an array, for puts and gets.
    pub(super) fn addresses<T>(&self, addr: *const T) -> MemberAddresses<'_, u8> {
        MemberAddresses::at_stride(addr.cast_mut().cast(), 0, self.group.me)
    }

    /// The addresses of the copies of the `bytes` bytes at `addr` in this PE's node group.
    pub(super) fn local_addresses<'s, T>(
        &'s self,
        subgroups: &Subgroups<'s>,
        argument: &str,
        addr: *const T,
        bytes: usize,
    ) -> MemberAddresses<'s, u8> {
        if bytes == 0 {
            return MemberAddresses::at_stride(addr.cast_mut().cast(), 0, subgroups.local.me);
        }
        let memory = &self.node.transport.memory;
        MemberAddresses::resolve(memory, &subgroups.local, argument, addr.cast(), bytes)
    }

    /// All members, from this one on, so that not all members access the same one at once.
    pub(super) fn in_turn(&self) -> impl Iterator<Item = usize> {
        from_on(self.group.me, self.group.size)
    }

    /// This member's share of `n` elements, if each member works on a share for all.
    pub(super) fn share(&self, n: usize) -> Range<usize> {
        let share = n.div_ceil(self.group.size);
        let start = (self.group.me * share).min(n);
        start..(start + share).min(n)
    }

    /// Elements in pieces of at most `longest`.
    pub(super) fn chunks(elements: Range<usize>, longest: usize) -> impl Iterator<Item = Range<usize>> {
        let end = elements.end;
        elements.step_by(longest).map(move |from| from..end.min(from + longest))
    }
}

//! Synchronisations and small broadcasts of members on several sockets.

use super::channel::{Channel, Slots};
use super::{Epoch, Group};
use crate::barrier::{self, SocketTree};
use crate::team::Sockets;

impl<'a> Group<'a> {
    /// The sockets of the members, if they are on several of this node.
    #[inline]
    pub fn sockets(&self) -> Option<&'a Sockets> {
        match &self.channel {
            Channel::Slots(slots) => slots.local.sockets(),
            _ => None,
        }
    }
}

impl Sockets {
    /// The tree of [`barrier::by_sockets`] as this member sees it; `exchanges` if the leaders of two sockets may
    /// exchange flags.
    pub fn tree(&self, exchanges: bool) -> SocketTree<'_> {
        SocketTree {
            mine: self.mine(),
            position: self.position,
            own: self.own,
            count: self.count(),
            exchanges: exchanges && self.count() == 2,
        }
    }
}

impl Epoch<'_> {
    /// Waits until all members have entered this epoch: by the tree barrier, or by that of sockets.
    #[inline(never)]
    pub(super) fn synchronise_by_tree(&self, slots: &Slots<'_>, by_sockets: bool) {
        let (me, size) = (self.group.me, self.group.size);
        let post = |member, flag| self.post_slot(slots, member, flag);
        let wait = |flag| self.wait_slot(slots, flag);
        match slots.local.sockets() {
            _ if !by_sockets => barrier::tree(me, size, post, wait),
            Some(sockets) => {
                let leader = |socket| sockets.leader(socket);
                barrier::by_sockets(&sockets.tree(true), leader, post, wait);
            }
            None => barrier::dissemination(me, size, post, wait),
        }
    }
}

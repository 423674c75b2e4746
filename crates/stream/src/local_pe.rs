//! Other members of this PE's node, and ways to all members.

use ferroshmem_core::wait::signals;
use ferroshmem_layout::SignalLine;

use super::ring::Producer;
use super::shape::Head;

/// Another member of the node: the ring to it, and where it sleeps.
#[derive(Debug)]
pub(super) struct LocalPe {
    pub producer: Producer,
    pub head: &'static Head,
    pub signals: &'static SignalLine,
}

impl LocalPe {
    /// Lets it have what member `me` of the node has written to the ring.
    pub(super) fn publish(&mut self, me: usize) {
        if self.producer.publish(&self.head.ready, me as u32) {
            signals::notify(self.signals);
        }
    }
}

/// Where a pushed item goes first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Route {
    /// Number of the link; [`HERE`]: none.
    pub link: u32,
    /// Number of the member on its node.
    pub local: u32,
}

pub(super) const HERE: u32 = u32::MAX;

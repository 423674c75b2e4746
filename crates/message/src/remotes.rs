//! What passes between this PE and those of other nodes: credit, and reads and writes of messages' data.

use ferroshmem_core::node::Node;
use ferroshmem_fabric::{Context, Exposed, Fabric, Remote};
use ferroshmem_layout::inbox::{Envelope, RendezvousControl};

use super::arrivals::QueuedRecords;
use super::credit::Credit;

/// What passes between this PE and those of other nodes.
#[derive(Debug, Default)]
pub(super) struct Remotes {
    pub(super) taken: QueuedRecords,
    /// By PE; empty before the first message.
    peers: Vec<Credit>,
    /// Reads and writes of messages' data.
    pub transfers: Vec<Transfer>,
    /// Contexts of transfers that have ended.
    pub(super) spare: Vec<Context>,
    /// This PE leaves: what comes is forgotten.
    pub is_left: bool,
}

/// A read or a write of a message's data.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) context: Context,
    /// The request that is complete then.
    pub(super) request: u64,
    /// The record that answers the other PE then.
    pub(super) to: usize,
    pub(super) envelope: Envelope,
    pub(super) control: RendezvousControl,
}

impl Transfer {
    /// Begins to read.
    ///
    /// # Safety
    /// `to` is writable for `bytes` bytes until the transfer has ended.
    pub(super) unsafe fn read(&self, node: &Node, to: *mut u8, from: Remote, bytes: u64) {
        // SAFETY: the caller promises that `to` is writable for `bytes` bytes until the transfer
        // has ended.
        unsafe { fabric(node).get_nbi(&self.context, to, from, bytes as usize) };
    }

    /// Begins to read what a PE exposes.
    ///
    /// # Safety
    /// As for [`read`](Self::read).
    pub(super) unsafe fn read_exposed(&self, node: &Node, to: *mut u8, from: Exposed, bytes: u64) {
        // SAFETY: the caller promises that `to` is writable until the transfer has ended.
        unsafe { fabric(node).get_exposed(&self.context, to, (self.to, from), bytes as usize) };
    }

    /// Begins to write.
    ///
    /// # Safety
    /// `from` is readable for `bytes` bytes until the transfer has ended.
    pub(super) unsafe fn write(&self, node: &Node, to: Remote, from: *const u8, bytes: u64) {
        // SAFETY: the caller promises that `from` is readable for `bytes` bytes until the transfer
        // has ended.
        unsafe { fabric(node).put_nbi(&self.context, to, from, bytes as usize) };
    }
}

impl Remotes {
    pub(super) fn peer(&mut self, node: &Node, pe: usize) -> &mut Credit {
        if self.peers.is_empty() {
            self.peers = vec![Credit::default(); node.job.n_pes()];
        }
        &mut self.peers[pe]
    }

    /// A PE says that receives have matched so many bytes of this one's messages.
    pub(super) fn credit(&mut self, pe: usize, bytes: u64) {
        if let Some(peer) = self.peers.get_mut(pe) {
            peer.give_back(bytes);
        }
    }
}

pub(super) fn fabric(node: &Node) -> &'static Fabric {
    node.transport.remote().fabric()
}

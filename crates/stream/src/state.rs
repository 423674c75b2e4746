//! What a PE has of a stream, and how it makes progress with it.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::internode::Internode;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::Health;
use ferroshmem_core::wait::{POLICY, signals};
use ferroshmem_fabric::Context;

use super::link::{IncomingLink, Network, OutgoingLink};
use super::local_pe::{LocalPe, Route};
use super::options::Options;
use super::ring::{Consumer, Pushed};
use super::shape::Head;

/// Calls in vain from one offer of the core to the next, where PEs have a core each and there are other nodes: what a
/// call waits for may be with a progress thread of this node, or with a PE of a node that shares these cores.
const OFFER: u32 = 8;

/// What a stream's guard guards.
#[derive(Debug)]
pub struct State {
    pub(super) options: Options,
    /// Which members have failed, in a resilient job.
    pub(super) health: Option<Health>,
    /// This PE's numbers in the team and on the node.
    pub(super) me: (u32, usize),
    pub(super) routes: Box<[Route]>,
    pub(super) local_pes: Box<[LocalPe]>,
    /// Neighbours to whose rings something was written and not published.
    pub(super) dirty: Vec<u32>,
    pub(super) own: &'static Head,
    pub(super) consumers: Box<[Consumer]>,
    /// Numbers of the rings that may have items, the one that is read first, and whether each ring is among them.
    pub(super) active: VecDeque<u32>,
    pub(super) is_active: Box<[bool]>,
    /// Items that the program sees, and which the next call that pulls passes.
    pub(super) viewed: u32,
    pub(super) outgoing: Box<[OutgoingLink]>,
    pub(super) incoming: Box<[IncomingLink]>,
    pub(super) context: Context,
    /// Offset and bytes of the own part.
    pub(super) part: (usize, usize),
    /// How often the stream was used, with this time.
    pub(super) uses: u64,
    pub(super) is_ended: bool,
    pub(super) is_closed: bool,
    pub(super) is_done: bool,
    pub(super) pushes: u32,
    /// Calls in vain.
    pub(super) vain: u32,
}

impl State {
    pub(super) fn spans_nodes(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Counts a call that has moved nothing; whether its thread is to offer its core.
    pub fn has_been_in_vain(&mut self) -> bool {
        self.vain = self.vain.wrapping_add(1);
        POLICY.oversubscribed() || self.spans_nodes() && self.vain.is_multiple_of(OFFER)
    }

    /// Lets a local PE have what was written to its ring.
    pub(super) fn publish(&mut self, to: u32) {
        self.local_pes[to as usize].publish(self.me.1);
    }

    /// Lets all local PEs have what was written to their rings.
    pub(super) fn publish_all(&mut self) {
        while let Some(to) = self.dirty.pop() {
            self.local_pes[to as usize].producer.is_dirty = false;
            self.publish(to);
        }
    }

    /// Sends what may be sent, hands on what has come by links, and says so if nothing more will.
    pub(crate) fn progress(&mut self, node: &Node) {
        if let Some(internode) = node.transport.internode().filter(|_| self.spans_nodes()) {
            internode.fabric().progress();
            self.progress_links(internode);
        }
        let is_last = self.is_ended && !self.is_closed && self.incoming.iter().all(|l| l.is_ended);
        if is_last {
            self.is_closed = true;
            self.publish_all();
            let locals = self.local_pes.len() as u64;
            let closed = &self.local_pes[0].head.closed.0;
            if closed.fetch_add(1, Ordering::AcqRel) + 1 == locals * self.uses {
                self.local_pes.iter().for_each(|n| signals::notify(n.signals));
            }
        }
    }

    fn progress_links(&mut self, internode: &Internode) {
        let Self { options, outgoing, incoming, local_pes, dirty, context, me, .. } = self;
        let network = Network { fabric: internode.fabric(), context };
        for link in outgoing.iter_mut() {
            link.progress(network, options.is_steady);
        }
        for link in incoming.iter_mut().filter(|l| !l.is_ended) {
            let source = link.source;
            let handed_on = link.progress(network, |to, item| {
                let local_pe = &mut local_pes[to];
                let producer = &mut local_pe.producer;
                // SAFETY: the frame has an item there.
                let pushed = unsafe { producer.push(item, options.item, source) };
                if pushed == Pushed::Yes {
                    if !producer.is_dirty {
                        producer.is_dirty = true;
                        dirty.push(to as u32);
                    }
                } else {
                    local_pe.publish(me.1);
                }
                pushed != Pushed::Full
            });
            if handed_on.is_err() {
                malformed(link.pe);
            }
        }
        if !self.incoming.is_empty() {
            self.publish_all();
        }
    }
}

#[cold]
fn malformed(pe: usize) -> ! {
    fatal(
        "a stream",
        format_args!("PE {pe} has sent a malformed frame: run all PEs with the same build of the library"),
    )
}

//! The end of a stream's use.

use std::sync::atomic::Ordering;

use ferroshmem_core::node::Node;
use ferroshmem_core::team::Health;
use ferroshmem_core::wait::progress;

use super::link::{IncomingLink, OutgoingLink};
use super::state::State;

impl State {
    /// Whether this PE has ended the stream.
    #[inline]
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// This PE pushes no more.
    pub fn end(&mut self, node: &Node) {
        self.is_ended = true;
        for link in &mut self.outgoing {
            link.is_ended = true;
        }
        self.publish_all();
        self.progress(node);
    }

    /// Whether a member has failed: no more items are awaited.
    pub fn has_failed(&self) -> bool {
        self.health.as_ref().is_some_and(Health::has_failed)
    }

    /// Whether all members have ended the stream, and this one has pulled all that was pushed to it and brought all
    /// that it had to bring. If one has failed, whether it has pulled what is there: others may take nothing any more.
    pub fn is_done(&mut self, node: &Node) -> bool {
        if self.is_done {
            return true;
        }
        self.pass();
        self.progress(node);
        let locals = self.local_pes.len() as u64;
        let closed = self.local_pes[0].head.closed.0.load(Ordering::Acquire);
        // What is in rings once all are closed is all that will be.
        let is_over = closed >= locals * self.uses && self.outgoing.iter().all(OutgoingLink::is_done);
        self.is_done = (is_over || self.has_failed()) && !self.find();
        if self.is_done && self.spans_nodes() {
            progress::STREAMS.fetch_sub(1, Ordering::Relaxed);
        }
        self.is_done
    }

    /// All members have pulled everything: the stream can be used again.
    pub fn reset(&mut self) {
        self.uses += 1;
        (self.is_ended, self.is_closed, self.is_done) = (false, false, false);
        self.viewed = 0;
        self.outgoing.iter_mut().for_each(OutgoingLink::reset);
        self.incoming.iter_mut().for_each(IncomingLink::reset);
        if self.spans_nodes() {
            progress::STREAMS.fetch_add(1, Ordering::Relaxed);
        }
    }
}

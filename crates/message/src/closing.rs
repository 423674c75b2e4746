//! The end of a team's messages, and of all.

use std::sync::atomic::Ordering;

use ferroshmem_core::node::Node;
use ferroshmem_core::wait::progress;

use super::lock::Guard;
use super::request::Request;
use super::state::State;
use super::{Messages, reason};

impl Messages {
    /// The team of an id ends, on which all members have synchronised: forgets the messages that were not received.
    /// False if requests are under way.
    pub fn leave_team(&self, node: &Node, id: usize) -> bool {
        let mut state = self.take_all(node);
        // No message of the team comes after.
        let is_of_team = |request: &Request| usize::from(request.team) == id;
        if state.requests.under_way().any(is_of_team) {
            return false;
        }
        while let Some(at) = state.matching.last_of(id) {
            self.take_unexpected(node, &mut state, at);
        }
        true
    }

    /// Before the job's PEs synchronise in `shmem_finalize`: sends what other PEs wait for.
    pub fn flush(&self, node: &Node, routine: &str) {
        let mut state = self.lock();
        state.is_closing = true;
        state.publish();
        drop(state);
        if !self.queued.is_empty() {
            let reason = reason(routine, 0, -1, true, -1);
            self.wait(node, &reason, &mut |_| self.queued.is_empty());
        }
        self.drain(node, routine);
    }

    /// After that synchronisation: goes on as before, or leaves the inbox empty if it was the last.
    pub fn leave(&self, node: &Node, is_last: bool) {
        let mut state = self.lock();
        // What other nodes have sent after the synchronisation needs no answer.
        state.remotes.is_left = is_last;
        drop(state);
        let mut state = self.take_all(node);
        state.is_closing = false;
        state.publish();
        if is_last {
            state.kept = 0;
            state.keep(node, 0);
            state.reader.leave(self.inbox);
            progress::PENDING.store(0, Ordering::Relaxed);
        }
    }

    /// Locks, and takes all records that are in the inbox.
    fn take_all(&self, node: &Node) -> Guard<'_, State> {
        loop {
            let mut state = self.enter(node);
            if state.reader.next(self.inbox).is_none() {
                return state;
            }
        }
    }
}

//! Messages of teams of which a PE has failed, in a resilient job: no thread waits for them any more.

use std::sync::atomic::Ordering;

use ferroshmem_core::constants::MSG_FAILED;
use ferroshmem_core::node::Node;

use super::Messages;
use super::local_inbox::room;
use super::request::Status;
use super::state::{State, Unfinished};

/// Of a message that does not come, or is not taken.
pub(super) const FAILED: Status = Status { source: -1, tag: -1, bytes: 0, error: MSG_FAILED };

impl Messages {
    /// Passes what PEs that have failed were writing to this one's inbox: all of it, up to the tail, that is unfinished
    /// once each of the others has been seen writing nothing.
    fn pass_unfinished(&self, node: &Node, state: &mut State) {
        let position = state.reader.position();
        let Some(tail) = self.inbox.unfinished(position) else {
            return;
        };
        let found = state.unfinished.take().filter(|found| found.position == position);
        let mut found = found.unwrap_or(Unfinished { position, tail, finished: 0 });
        let (pes, failures) = (node.job.placement.local_pes(), node.job.control.failures());
        let failed = |pe| failures.between(failures.replaced(), failures.count()).any(|failed| failed == pe);
        let is_done = |index: usize| {
            let block = node.job.control.pe_block(index);
            block.writers.load(Ordering::Acquire) == 0 || failed(pes[index] as usize)
        };
        found.finished += (found.finished..pes.len()).take_while(|index| is_done(*index)).count();
        if found.finished < pes.len() {
            state.unfinished = Some(found);
        } else if self.inbox.unfinished(position).is_some() && state.reader.pass_unfinished(self.inbox, found.tail) {
            room(node, self.inbox);
        }
    }

    /// From now on, requests of teams of which a PE has failed, as `has_failed` says by their ids, are given up.
    pub fn become_resilient(&self, has_failed: fn(usize) -> bool) {
        // A second call brings the same.
        let _ = self.has_failed.set(has_failed);
    }

    /// Whether messages of the team do not come any more.
    #[cold]
    pub(super) fn is_in_vain(&self, team: u16) -> bool {
        self.has_failed.get().is_some_and(|has_failed| has_failed(team.into()))
    }

    /// Gives up what is under way of teams of which a PE has failed; whether there may be such. What has come is to be
    /// taken before.
    #[inline]
    pub fn give_up(&self, node: &Node) -> bool {
        self.has_failed.get().is_some_and(|has_failed| self.give_up_of(node, *has_failed))
    }

    #[cold]
    #[inline(never)]
    fn give_up_of(&self, node: &Node, has_failed: fn(usize) -> bool) -> bool {
        if node.job.control.failures().count() == 0 {
            return false;
        }
        let mut state = self.enter(node);
        self.pass_unfinished(node, &mut state);
        let mut from = 0;
        while let Some((handle, next)) = state.requests.find(from, |request| has_failed(request.team.into())) {
            if let Some(request) = state.requests.get(handle) {
                request.status = FAILED;
            }
            state.matching.withdraw(handle);
            state.sending.retain(|other| *other != handle);
            self.complete(&mut state, handle);
            from = next;
        }
        // Of these, and what others are told of their messages, which they give up, too.
        state.outgoing.retain(|record| !has_failed(record.envelope.team.into()));
        self.count_queued(&state);
        true
    }
}

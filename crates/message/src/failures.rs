//! Messages of teams of which a PE has failed, in a resilient job: no thread waits for them any more.

use std::time::Duration;

use ferroshmem_core::constants::MSG_FAILED;
use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::node::Node;
use ferroshmem_core::wait::record::now_ms;

use super::Messages;
use super::request::Status;
use super::state::State;

/// Of a message that does not come, or is not taken.
pub(super) const FAILED: Status = Status { source: -1, tag: -1, bytes: 0, error: MSG_FAILED };

/// So long a record stays unfinished whose writer has failed; others take microseconds.
const STUCK: Duration = Duration::from_secs(5);

impl Messages {
    /// Ends this PE if the one that was writing its next record has failed: all later messages are behind that, and
    /// where they begin is not known. The job goes on without it.
    fn end_if_stuck(&self, state: &mut State) {
        let (position, now) = (state.reader.position(), now_ms());
        if !self.inbox.is_unfinished(position) {
            return;
        }
        if state.unfinished.0 != position {
            state.unfinished = (position, now);
        } else if now - state.unfinished.1 > STUCK.as_millis() as u64 {
            fatal("messages", "a PE has failed while it wrote a message to this one, which can receive no other now")
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
        self.end_if_stuck(&mut state);
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

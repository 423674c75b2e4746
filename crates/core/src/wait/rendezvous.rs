//! A synchronisation without a team: before there are any, or of PEs of two jobs.

use std::sync::atomic::{AtomicU32, Ordering};

use super::Word;
use super::record::{Recorder, WaitReason};
use crate::futex;
use ferroshmem_layout::ConnectionState;

/// Where `n` PEs meet, once or several times.
#[derive(Debug, Clone, Copy)]
pub struct Rendezvous<'a> {
    /// Counts arrivals.
    pub arrived: &'a AtomicU32,
    /// Counts meetings that are complete: a futex word.
    pub epoch: &'a AtomicU32,
    /// Number of PEs.
    pub n: u32,
}

impl Rendezvous<'_> {
    /// This PE is here; the number of the meeting, for [`wait`](Self::wait).
    pub fn arrive(&self) -> u32 {
        self.arrive_with(|| ())
    }

    /// The same. The last one to arrive calls `complete` before any other goes on.
    pub fn arrive_with(&self, complete: impl FnOnce()) -> u32 {
        let arrival = self.arrived.fetch_add(1, Ordering::AcqRel);
        let round = arrival / self.n + 1;
        if arrival % self.n == self.n - 1 {
            complete();
            self.epoch.store(round, Ordering::Release);
            futex::wake(self.epoch, futex::ANY);
        }
        round
    }

    /// Waits until all PEs have arrived; `reason` is recorded meanwhile. False if it [is over](WaitReason::is_over) and
    /// not all have.
    pub fn wait(&self, round: u32, reason: &WaitReason<'_>) -> bool {
        let seen = self.epoch.load(Ordering::Acquire);
        if seen >= round {
            return true;
        }
        let _shown = Recorder::start(reason);
        loop {
            let is_over = reason.is_over();
            let seen = self.epoch.load(Ordering::Acquire);
            if seen >= round || is_over {
                return seen >= round;
            }
            futex::wait(self.epoch, seen, futex::ANY, reason.longest_sleep());
        }
    }
}

/// All members of a connection have come: the last one says so. Whether they are connected: no group had ended.
pub fn connect(state: &impl Word) -> bool {
    state.replace(ConnectionState::Connecting as u32, ConnectionState::Connected as u32)
}

/// A group of a connection has ended. Members that wait for each other to come are all connected, or none of them.
pub fn end(state: &impl Word) {
    let abandoned = ConnectionState::Abandoned as u32;
    if !state.replace(ConnectionState::Connecting as u32, abandoned) {
        state.replace(ConnectionState::Connected as u32, ConnectionState::Failed as u32);
    }
}

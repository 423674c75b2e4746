//! A synchronisation without a team: before there are any, or of PEs of two jobs.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::record::{Recorder, WaitReason};
use crate::platform::futex;

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
        let arrival = self.arrived.fetch_add(1, Ordering::AcqRel);
        let round = arrival / self.n + 1;
        if arrival % self.n == self.n - 1 {
            self.epoch.store(round, Ordering::Release);
            futex::wake(self.epoch, futex::ANY);
        }
        round
    }

    /// Waits until all PEs have arrived; `reason` is recorded meanwhile.
    pub fn wait(&self, round: u32, reason: &WaitReason<'_>) {
        let seen = self.epoch.load(Ordering::Acquire);
        if seen >= round {
            return;
        }
        let _shown = Recorder::start(reason);
        loop {
            let seen = self.epoch.load(Ordering::Acquire);
            if seen >= round {
                return;
            }
            futex::wait(self.epoch, seen, futex::ANY, Some(Duration::from_secs(1)));
        }
    }
}

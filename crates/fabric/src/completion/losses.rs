//! PEs that are lost, and those that may be.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

use super::shared::Shared;
use crate::Config;
use crate::lock::lock;

/// What is known of a peer.
///
/// Operations to one that is not well go no further: libfabric does not get them, and no thread waits for room. Those
/// to a suspect stay incomplete, until it is lost, which completes them, or the owner ends the process.
#[derive(Default)]
pub(crate) struct Condition(AtomicU32);

const SUSPECT: u32 = 1;
const LOST: u32 = 2;

impl Condition {
    #[inline]
    pub(crate) fn is_well(&self) -> bool {
        self.0.load(Acquire) == 0
    }

    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.load(Acquire) == LOST
    }

    /// Whether it was less.
    fn raise(&self, to: u32) -> bool {
        self.0.fetch_max(to, AcqRel) < to
    }
}

/// A failure that the loss of a PE is to explain.
struct Suspicion {
    /// None: libfabric does not say which.
    pe: Option<usize>,
    since: Instant,
    /// Ticks that are to pass: this process may have been stopped, and the owner with it.
    ticks: u32,
    reason: String,
}

/// What has been lost, and what may have been.
#[derive(Default)]
pub(crate) struct Losses {
    tolerated: AtomicBool,
    all: Mutex<All>,
}

#[derive(Default)]
struct All {
    suspicions: Vec<Suspicion>,
    lost: Vec<(usize, Instant)>,
}

impl All {
    /// A failure, of a PE whose first one it is, or of any, which is to be explained within so much time.
    fn suspect(&mut self, pe: Option<usize>, reason: &str, time: Duration, ticks: u32) {
        let is_recent = |(_, since): &(usize, Instant)| since.elapsed() <= time;
        let is_nameless = |one: &Suspicion| one.pe.is_none();
        if pe.is_none() && (self.lost.iter().any(is_recent) || self.suspicions.iter().any(is_nameless)) {
            return;
        }
        self.suspicions.push(Suspicion { pe, since: Instant::now(), ticks, reason: reason.to_owned() });
    }

    /// The loss of a PE explains its failures, and those of which libfabric did not say the PE.
    fn lose(&mut self, pe: usize) {
        self.lost.push((pe, Instant::now()));
        self.suspicions.retain(|one| one.pe.is_some_and(|suspect| suspect != pe));
    }

    /// A failure that was not explained in time. Once for each tick.
    fn tick(&mut self, time: Duration) -> Option<Suspicion> {
        for one in &mut self.suspicions {
            one.ticks = one.ticks.saturating_sub(1);
        }
        let is_late = |one: &Suspicion| one.ticks == 0 && one.since.elapsed() >= time;
        let at = self.suspicions.iter().position(is_late)?;
        Some(self.suspicions.swap_remove(at))
    }
}

impl Losses {
    /// Failures make suspects.
    pub(crate) fn tolerate(&self) {
        self.tolerated.store(true, Release);
    }

    #[inline]
    pub(crate) fn are_tolerated(&self) -> bool {
        self.tolerated.load(Relaxed)
    }

    /// The PE that was lost as number `i`, if that is so long ago.
    pub(crate) fn lost_for(&self, time: Duration, i: usize) -> Option<usize> {
        let (pe, since) = *lock(&self.all).lost.get(i)?;
        (since.elapsed() >= time).then_some(pe)
    }
}

impl Shared {
    #[inline]
    pub(crate) fn is_lost(&self, pe: usize) -> bool {
        self.peers.get(pe).is_some_and(|peer| peer.condition.is_lost())
    }

    /// A failure makes a suspect. With any locks but that of the losses.
    #[cold]
    #[inline(never)]
    pub(super) fn suspect(&self, pe: Option<usize>, reason: &str) {
        if let Some(pe) = pe {
            let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(SUSPECT)) else {
                return;
            };
            peer.queue.close();
        }
        let Config { peer_timeout: time, tick, .. } = self.config;
        let ticks = time.as_nanos() / tick.as_nanos().max(1) / 2;
        let mut all = lock(&self.losses.all);
        if pe.is_some_and(|pe| self.is_lost(pe)) {
            return; // by another thread meanwhile
        }
        all.suspect(pe, reason, time, ticks.try_into().unwrap_or(u32::MAX));
        drop(all);
        if let Some(pe) = pe {
            self.events.peer_suspected(pe, reason);
        }
    }

    /// A PE is lost; whether it was not before. What is under way to it is still to be completed.
    pub(crate) fn lose(&self, pe: usize) -> bool {
        self.losses.tolerate();
        let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(LOST)) else {
            return false;
        };
        peer.queue.close();
        lock(&self.losses.all).lose(pe);
        true
    }

    /// Reports a suspect that was not lost in time. Once for each tick.
    pub(crate) fn report_suspects(&self) {
        if !self.losses.are_tolerated() {
            return;
        }
        let late = lock(&self.losses.all).tick(self.config.peer_timeout);
        if let Some(Suspicion { pe, reason, .. }) = late {
            self.end_over(pe, &reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::ZERO;
    const LATE: Duration = Duration::from_secs(3600);

    fn late(all: &mut All, time: Duration) -> Option<Option<usize>> {
        all.tick(time).map(|one| one.pe)
    }

    #[test]
    fn a_suspect_is_reported_if_it_is_not_lost_in_time() {
        let mut all = All::default();
        all.suspect(Some(1), "", LATE, 3);
        all.suspect(Some(2), "", LATE, 3);
        all.lose(1);
        // Neither before its time, nor before the owner could say more.
        assert_eq!([LATE, SOON, SOON].map(|time| late(&mut all, time)), [None, None, Some(Some(2))]);
        assert_eq!(late(&mut all, SOON), None);
    }

    #[test]
    fn a_failure_of_any_pe_is_explained_by_any_loss_near_it() {
        let mut all = All::default();
        all.suspect(None, "", LATE, 1);
        all.suspect(None, "", LATE, 1);
        all.suspect(Some(2), "", LATE, 1);
        all.lose(1);
        assert_eq!([0; 2].map(|_| late(&mut all, SOON)), [Some(Some(2)), None]);
        // The loss was not long ago; it was.
        all.suspect(None, "", LATE, 1);
        assert_eq!(late(&mut all, SOON), None);
        all.suspect(None, "", SOON, 1);
        assert_eq!([0; 2].map(|_| late(&mut all, SOON)), [Some(None), None]);
    }
}

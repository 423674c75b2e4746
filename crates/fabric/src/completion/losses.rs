//! PEs that are lost, and those that may be.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use std::time::{Duration, Instant};

use super::shared::Shared;
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

impl Losses {
    /// Failures make suspects.
    pub(crate) fn tolerate(&self) {
        self.tolerated.store(true, Release);
    }

    #[inline]
    pub(crate) fn are_tolerated(&self) -> bool {
        self.tolerated.load(Relaxed)
    }

    /// Whether a PE is lost.
    pub(crate) fn any(&self) -> bool {
        self.are_tolerated() && !lock(&self.all).lost.is_empty()
    }

    /// PEs that were lost so long ago.
    pub(crate) fn lost_for(&self, time: Duration) -> Vec<usize> {
        let all = lock(&self.all);
        let is_old = |(_, since): &&(usize, Instant)| since.elapsed() >= time;
        all.lost.iter().filter(is_old).map(|(pe, _)| *pe).collect()
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
        let suspicion = |pe| Suspicion { pe, since: Instant::now(), reason: reason.to_owned() };
        let mut all = lock(&self.losses.all);
        if let Some(pe) = pe {
            let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(SUSPECT)) else {
                return;
            };
            peer.queue.close();
            all.suspicions.push(suspicion(Some(pe)));
            drop(all);
            return self.events.peer_suspected(pe, reason);
        }
        let is_recent = |(_, since): &(usize, Instant)| since.elapsed() <= self.config.peer_timeout;
        let is_explained = all.lost.iter().any(is_recent) || all.suspicions.iter().any(|one| one.pe.is_none());
        if !is_explained {
            all.suspicions.push(suspicion(None));
        }
    }

    /// A PE is lost; whether it was not before. What is under way to it is still to be completed.
    pub(crate) fn lose(&self, pe: usize) -> bool {
        self.losses.tolerate();
        let mut all = lock(&self.losses.all);
        let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(LOST)) else {
            return false;
        };
        peer.queue.close();
        all.lost.push((pe, Instant::now()));
        // It explains a failure of which libfabric did not say the PE.
        all.suspicions.retain(|one| one.pe.is_some_and(|suspect| suspect != pe));
        true
    }

    /// Reports suspects that were not lost in time.
    pub(crate) fn report_suspects(&self) {
        if !self.losses.are_tolerated() {
            return;
        }
        let late = {
            let mut all = lock(&self.losses.all);
            let is_late = |one: &Suspicion| one.since.elapsed() > self.config.peer_timeout;
            let at = all.suspicions.iter().position(is_late);
            at.map(|at| all.suspicions.swap_remove(at))
        };
        if let Some(Suspicion { pe, reason, .. }) = late {
            self.end_over(pe, &reason);
        }
    }
}

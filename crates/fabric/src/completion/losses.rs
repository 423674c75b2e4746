//! PEs that are lost, and those that may be.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::{Duration, Instant};

use crate::lock::lock;

/// A failure that the loss of a PE is to explain.
pub(super) struct Suspicion {
    /// None: libfabric does not say which.
    pub pe: Option<usize>,
    since: Instant,
    /// Ticks that are to pass: this process may have been stopped, and the owner with it.
    ticks: u32,
    pub reason: String,
}

/// What has been lost, and what may have been.
#[derive(Default)]
pub(crate) struct Losses {
    tolerated: AtomicBool,
    pub(super) all: Mutex<All>,
}

#[derive(Default)]
pub(super) struct All {
    suspicions: Vec<Suspicion>,
    lost: Vec<(usize, Instant)>,
}

impl All {
    /// A failure, of a PE whose first one it is, or of any, which is to be explained within so much time.
    pub(super) fn suspect(&mut self, pe: Option<usize>, reason: &str, time: Duration, ticks: u32) {
        let is_recent = |(_, since): &(usize, Instant)| since.elapsed() <= time;
        let is_nameless = |one: &Suspicion| one.pe.is_none();
        if pe.is_none() && (self.lost.iter().any(is_recent) || self.suspicions.iter().any(is_nameless)) {
            return;
        }
        self.suspicions.push(Suspicion { pe, since: Instant::now(), ticks, reason: reason.to_owned() });
    }

    /// The loss of a PE explains its failures, and those of which libfabric did not say the PE.
    pub(super) fn lose(&mut self, pe: usize) {
        self.lost.push((pe, Instant::now()));
        self.suspicions.retain(|one| one.pe.is_some_and(|suspect| suspect != pe));
    }

    /// A failure that was not explained in time. Once for each tick.
    pub(super) fn tick(&mut self, time: Duration) -> Option<Suspicion> {
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

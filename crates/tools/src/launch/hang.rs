//! Whether a job makes progress.
//!
//! Progress is that some PE enters or leaves a collective, or a wait that lasts for more than a millisecond. A job in
//! which a PE waits for long, and none makes progress meanwhile, is said to hang. A PE that computes for as long cannot
//! be distinguished from one that does so for ever, so the report says what each PE does.

use std::time::{Duration, Instant};

/// Longest time between looks.
const PERIOD: Duration = Duration::from_secs(1);
/// If the supervisor itself has not run for so long, nothing is known of the PEs.
const LOST: Duration = Duration::from_secs(10);

/// What is to be done about a job that makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hang {
    /// To say what its PEs do.
    Hint,
    /// The same, and to end it.
    End,
}

/// Watches the progress of all jobs.
#[derive(Debug)]
pub(super) struct HangWatch {
    /// Time without progress after which the user gets a hint.
    hint_after: Option<Duration>,
    /// Time after which the jobs are ended.
    end_after: Option<Duration>,
    looked: Option<Instant>,
    seen: u64,
    /// When progress was seen last.
    since: Instant,
    hinted: bool,
}

impl HangWatch {
    pub(super) fn new(hint_after: Option<Duration>, end_after: Option<Duration>) -> Self {
        Self { hint_after, end_after, looked: None, seen: 0, since: Instant::now(), hinted: false }
    }

    /// The time without progress that is of interest next.
    fn limit(&self) -> Option<(Hang, Duration)> {
        let hint = self.hint_after.filter(|_| !self.hinted);
        let hint = hint.map(|after| (Hang::Hint, after));
        let end = self.end_after.map(|after| (Hang::End, after));
        hint.into_iter().chain(end).min_by_key(|(_, after)| *after)
    }

    /// When to look next.
    pub(super) fn next_check(&self, now: Instant) -> Option<Instant> {
        let (_, after) = self.limit()?;
        let period = (after / 4).clamp(Duration::from_millis(20), PERIOD);
        Some(self.looked.map_or(now + period, |at| at + period))
    }

    /// Forgets what was seen: the PEs could not run for a while.
    pub(super) fn reset(&mut self) {
        self.looked = None;
        self.since = Instant::now();
    }

    /// Looks at the jobs, if that is due: what is to be done, and for how long there was no progress. `seen` is a
    /// digest of the progress of all PEs, `longest_wait` what it says.
    pub(super) fn check(
        &mut self,
        now: Instant,
        seen: impl FnOnce() -> u64,
        longest_wait: impl FnOnce() -> Option<Duration>,
    ) -> Option<(Hang, Duration)> {
        let is_due = self.looked.is_none() || self.next_check(now).is_some_and(|at| now >= at);
        if self.limit().is_none() || !is_due {
            return None;
        }
        self.look(now, seen(), longest_wait)
    }

    /// As [`check`](Self::check), which is due.
    fn look(
        &mut self,
        now: Instant,
        seen: u64,
        longest_wait: impl FnOnce() -> Option<Duration>,
    ) -> Option<(Hang, Duration)> {
        let lost = self.looked.is_some_and(|at| now.saturating_duration_since(at) > LOST);
        if self.looked.replace(now).is_none() || lost || seen != self.seen {
            self.seen = seen;
            self.since = now;
            self.hinted = false;
            return None;
        }
        let (hang, after) = self.limit()?;
        // The wait began before the last progress, or with it.
        let silent = (now - self.since).min(longest_wait()?);
        if silent < after {
            return None;
        }
        self.hinted |= hang == Hang::Hint;
        Some((hang, silent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn one_hint_and_an_end() {
        let start = Instant::now();
        let mut watch = HangWatch::new(Some(seconds(3)), Some(seconds(7)));
        let mut look = |at, seen| watch.look(start + seconds(at), seen, || Some(seconds(100)));
        assert_eq!(look(0, 1), None);
        assert_eq!(look(2, 1), None);
        assert_eq!(look(3, 1), Some((Hang::Hint, seconds(3))));
        assert_eq!(look(4, 1), None);
        // Progress: all begins again.
        assert_eq!(look(6, 2), None);
        assert_eq!(look(8, 2), None);
        assert_eq!(look(9, 2), Some((Hang::Hint, seconds(3))));
        assert_eq!(look(13, 2), Some((Hang::End, seconds(7))));
        // The supervisor did not run.
        assert_eq!(look(60, 2), None);
        assert_eq!(look(61, 2), None);
    }

    #[test]
    fn a_job_in_which_no_pe_waits_does_not_hang() {
        let start = Instant::now();
        let mut watch = HangWatch::new(None, Some(seconds(2)));
        assert_eq!(watch.look(start, 1, || None), None);
        assert_eq!(watch.look(start + seconds(9), 1, || None), None);
        let short = || Some(seconds(1));
        assert_eq!(watch.look(start + seconds(10), 1, short), None);
        assert_eq!(HangWatch::new(None, None).next_check(start), None);
    }
}

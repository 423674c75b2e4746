//! Which members of a team have failed, in a resilient job.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::Members;
use crate::wait::record::Ending;
use ferroshmem_layout::Failures;

/// Whether the job is resilient, as this process knows it: so that others need not look into the job's memory.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether the job goes on without PEs that fail.
#[inline]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Whether this PE has left a team that had failed: its slots may show anything.
static HAS_LEFT_FAILED: AtomicBool = AtomicBool::new(false);

/// Whether slots of teams on this PE may have been left at any point.
pub fn has_left_failed() -> bool {
    HAS_LEFT_FAILED.load(Ordering::Relaxed)
}

/// This PE leaves a team that has failed.
pub fn leave_failed() {
    HAS_LEFT_FAILED.store(true, Ordering::Relaxed);
}

/// The job does, or does not, once the library is finalised.
pub fn set(on: bool) {
    IS_ON.store(on, Ordering::Relaxed);
}

/// Which members have failed since a team was made, as this PE sees it. Once one has, the team has failed for ever.
#[derive(Debug)]
pub struct Health {
    failures: &'static Failures,
    members: Members,
    /// Not 0 once a member has revoked the team.
    revoked: &'static AtomicU32,
    /// The count of failures when the team was made, the same on all members.
    since: AtomicU32,
    /// The count up to which this PE has looked, or [`FAILED`].
    seen: AtomicU32,
}

/// A member was among the failures, or the team is revoked: no count.
const FAILED: u32 = u32::MAX;

/// No member can revoke it: it is no team.
pub static NOT_REVOKED: AtomicU32 = AtomicU32::new(0);

impl Health {
    /// Of `members` that were all there at the count `since`.
    pub fn new(failures: &'static Failures, members: Members, revoked: &'static AtomicU32, since: usize) -> Self {
        let [since, seen] = [since as u32; 2].map(AtomicU32::new);
        Self { failures, members, revoked, since, seen }
    }

    /// Of the same members.
    pub fn copy(&self) -> Self {
        Self::new(self.failures, self.members.clone(), self.revoked, self.since())
    }

    /// The members are all there at the count `since`: other processes have taken the numbers of those that had failed.
    pub fn renew(&self, since: usize) {
        self.since.store(since as u32, Ordering::Relaxed);
        self.seen.store(since as u32, Ordering::Relaxed);
    }

    /// The count of failures when the team was made.
    pub fn since(&self) -> usize {
        self.since.load(Ordering::Relaxed) as usize
    }

    /// How many PEs of the job have failed.
    pub fn count(&self) -> usize {
        self.failures.count()
    }

    /// Whether a member has failed, or one has revoked the team.
    #[inline]
    pub fn has_failed(&self) -> bool {
        let is_known = self.seen.load(Ordering::Relaxed) as usize == self.count();
        (!is_known || self.revoked.load(Ordering::Acquire) != 0) && self.look()
    }

    /// Whether a look has found that before.
    #[inline]
    pub fn is_known_failed(&self) -> bool {
        self.seen.load(Ordering::Relaxed) == FAILED
    }

    /// As [`has_failed`](Self::has_failed), once there is something to look at.
    #[cold]
    #[inline(never)]
    fn look(&self) -> bool {
        let (seen, count) = (self.seen.load(Ordering::Relaxed), self.count());
        let has_failed = seen == FAILED
            || self.revoked.load(Ordering::Acquire) != 0
            || self.failures.between(seen as usize, count).any(|pe| self.members.index_of(pe).is_some());
        // Another thread, which has looked up to another count, may store what it found after this: then the next look
        // begins at a count before the failure.
        self.seen.store(if has_failed { FAILED } else { count as u32 }, Ordering::Relaxed);
        has_failed
    }

    /// The members among the failures up to a count, in the order of their numbers.
    pub fn failed_members(&self, count: usize) -> impl Iterator<Item = usize> {
        (0..self.members.size).filter(move |member| self.is_failed(*member, count))
    }

    /// Whether a member is among the failures up to a count.
    pub fn is_failed(&self, member: usize, count: usize) -> bool {
        let pe = self.members.pe(member);
        self.failures.between(self.since(), count).any(|failed| failed == pe)
    }
}

impl Ending for Health {
    fn is_over(&self) -> bool {
        self.has_failed()
    }
}

//! Shutdown: the steps by which a job is ended.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use super::descendants::GRACE;

/// How long PEs may take to end after a signal that a user sent through `oshrun`.
const GRACE_AFTER_SIGNAL: Duration = Duration::from_secs(2);
/// How long PEs past `shmem_finalize` may take to leave by themselves.
pub(super) const LEAVE: Duration = Duration::from_millis(500);
/// Time after which a second request to end kills the PEs. Before it, the request may be the same
/// signal again: a signal to the process group arrives more than once.
const REPEATED: Duration = Duration::from_millis(500);

/// A job that is being ended.
#[derive(Debug, Clone)]
pub(super) struct Shutdown {
    /// The job's exit status.
    pub status: u8,
    begun: Instant,
    terminate_at: Option<Instant>,
    kill_at: Instant,
    kills: bool,
    /// When an end without delay was asked for last, of a shutdown that had begun.
    hastened_at: Option<Instant>,
}

impl Shutdown {
    fn new(status: u8, terminate: Option<Duration>, kill: Duration) -> Self {
        let begun = Instant::now();
        let terminate_at = terminate.map(|t| begun + t);
        Self { status, begun, terminate_at, kill_at: begun + kill, kills: false, hastened_at: None }
    }

    /// SIGTERM now, SIGKILL shortly after.
    pub(super) fn now(status: u8) -> Self {
        Self::new(status, Some(Duration::ZERO), GRACE)
    }

    /// The same, but the PEs may first do what they are about to.
    pub(super) fn soon(status: u8, within: Duration) -> Self {
        Self::new(status, Some(within), within + GRACE)
    }

    /// The PEs have received a signal to end: SIGKILL later for those that do not.
    pub(super) fn after_signal(status: u8) -> Self {
        Self::new(status, None, GRACE_AFTER_SIGNAL)
    }

    /// SIGKILL now.
    pub(super) fn at_once(status: u8) -> Self {
        Self::new(status, None, Duration::ZERO)
    }

    /// Whether the PEs have received a signal to end.
    pub(super) fn has_begun(&self) -> bool {
        self.terminate_at.is_none()
    }

    /// Another reason to end: no step comes later than `other` has it, and a second signal kills at
    /// once. The status stays.
    pub(super) fn merge(&mut self, other: &Self) {
        if let Some(at) = self.terminate_at {
            self.terminate_at = Some(other.terminate_at.map_or(at, |o| o.min(at)));
        }
        let repeated = other.terminate_at.is_none() && other.begun > self.begun + REPEATED;
        let kill_at = if repeated { other.begun } else { other.kill_at };
        self.kill_at = self.kill_at.min(kill_at);
        if kill_at <= other.begun {
            self.hastened_at = Some(other.begun);
        }
    }

    /// Whether an end without delay was asked for since then.
    pub(super) fn is_hastened_since(&self, at: Instant) -> bool {
        self.hastened_at.is_some_and(|hastened| hastened >= at)
    }

    /// When the next step is due.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        // Once SIGKILL is sent, it is sent again to what may have slipped through.
        let again = Instant::now() + Duration::from_millis(100);
        Some(if self.kills { again } else { self.terminate_at.unwrap_or(self.kill_at) })
    }

    /// The signal that all PEs are to get now.
    pub(super) fn due(&mut self, now: Instant) -> Option<Signal> {
        if now >= self.kill_at {
            self.kills = true;
            self.terminate_at = None;
            return Some(Signal::SIGKILL);
        }
        self.terminate_at.take_if(|at| now >= *at).map(|_| Signal::SIGTERM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_a_shutdown() {
        let mut shutdown = Shutdown::now(3);
        let start = shutdown.begun;
        assert!(!shutdown.has_begun());
        assert_eq!(shutdown.due(start), Some(Signal::SIGTERM));
        assert!(shutdown.has_begun());
        assert_eq!(shutdown.due(start + GRACE / 2), None);
        assert_eq!(shutdown.due(start + GRACE), Some(Signal::SIGKILL));
    }

    #[test]
    fn a_shutdown_can_be_hastened() {
        let mut shutdown = Shutdown::soon(1, LEAVE);
        let start = shutdown.begun;
        assert_eq!(shutdown.due(start), None);
        shutdown.merge(&Shutdown::now(9));
        assert_eq!(shutdown.due(Instant::now()), Some(Signal::SIGTERM));
        assert_eq!(shutdown.status, 1);
        shutdown.merge(&Shutdown::at_once(137));
        assert_eq!(shutdown.due(Instant::now()), Some(Signal::SIGKILL));
    }

    #[test]
    fn a_signal_that_arrives_twice_is_one() {
        let mut shutdown = Shutdown::after_signal(130);
        let start = shutdown.begun;
        shutdown.merge(&Shutdown::after_signal(130));
        assert_eq!(shutdown.due(start + GRACE_AFTER_SIGNAL / 2), None);
        let mut later = Shutdown::after_signal(130);
        later.begun = start + REPEATED * 2;
        shutdown.merge(&later);
        assert_eq!(shutdown.due(start + REPEATED * 2), Some(Signal::SIGKILL));
    }
}

//! How long a watched PE has given no sign of life.

use std::time::{Duration, Instant};

/// A process that looks less often than this was itself stopped, or its node is overloaded: what it did
/// not see meanwhile says nothing of others.
const AWAY: Duration = Duration::from_secs(1);

/// The age of a watched PE, as far as the watching process could look.
#[derive(Debug)]
pub(super) struct HeartbeatAge {
    alive_at: Instant,
    looked_at: Instant,
}

impl HeartbeatAge {
    /// One that begins.
    pub(super) fn since(now: Instant) -> Self {
        Self { alive_at: now, looked_at: now }
    }

    /// Looks; how long it has lasted. After a time away it begins anew: signs may have come, and be read
    /// only now.
    pub(super) fn look(&mut self, now: Instant) -> Duration {
        if now - self.looked_at > AWAY {
            self.alive_at = now;
        }
        self.looked_at = now;
        now - self.alive_at
    }

    /// A sign of life: it begins anew.
    pub(super) fn end(&mut self, now: Instant) {
        self.alive_at = now;
    }
}

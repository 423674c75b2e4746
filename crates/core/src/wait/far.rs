//! How long a waiter lets the fabric work before it sleeps.
//!
//! What comes meanwhile, also for other PEs than this waits for, is answered in half of the time that
//! the fabric's own thread takes, which must wake up for it.

use std::time::{Duration, Instant};

use ferroshmem_fabric::yield_core;

use super::POLICY;
use crate::nodes::Link;

/// From the first look to the first sleep.
const FIRST: Duration = Duration::from_millis(3);
/// From one sleep to the next where much comes, and where little does.
const BUSY: Duration = Duration::from_millis(20);
const QUIET: Duration = Duration::from_micros(300);

/// Looks of one waiter at what PEs of other nodes send.
#[derive(Debug)]
pub(super) struct Far {
    link: &'static Link,
    looks: u32,
    /// Looks in a row before the core is given up between them.
    selfish: u32,
    /// When the first looks were over.
    since: Option<Instant>,
    limit: Duration,
    /// Somebody else had the core when it was given up.
    wanted: bool,
}

impl Far {
    /// Looks of a waiter who makes so many `spins` where he waits for PEs of his node.
    pub(super) fn new(link: &'static Link, spins: u32) -> Self {
        const SELFISH: u32 = 500;
        Self {
            link,
            looks: 0,
            selfish: SELFISH.min(spins),
            since: None,
            limit: FIRST,
            wanted: false,
        }
    }

    /// Lets the fabric work, and soon others, too: hosts of one machine may know nothing of
    /// each other, and what is waited for may need a core. False: it is time to sleep.
    /// Where PEs outnumber cores it soon is.
    pub(super) fn look(&mut self) -> bool {
        /// Looks between two offers of the core that nobody took up.
        const STRIDE: u32 = 32;

        self.looks = self.looks.saturating_add(1);
        if self.looks > self.selfish {
            if POLICY.oversubscribed() {
                return false;
            }
            if self.wanted || self.looks.is_multiple_of(STRIDE) {
                let now = Instant::now();
                if now - *self.since.get_or_insert(now) > self.limit {
                    // The fabric's own thread stays away while others let the fabric work.
                    return false;
                }
                self.wanted = yield_core();
            }
        }
        self.link.fabric().progress();
        true
    }

    /// Something has come after the waiter has slept so long: what is waited for may be next, so
    /// that it pays to look again as at first.
    pub fn reset(&mut self, slept: Duration) {
        /// What comes so soon is one of many.
        const SOON: Duration = Duration::from_millis(1);

        self.limit = if slept < SOON { BUSY } else { QUIET };
        self.looks = 0;
        self.since = None;
    }

    /// The waiter sleeps: the fabric's own thread takes over.
    pub fn hand_over(&self) {
        self.link.fabric().yield_progress();
    }
}

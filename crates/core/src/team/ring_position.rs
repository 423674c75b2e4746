//! The position of a PE in a team's rings of small broadcasts and scans (`group/ring.rs` explains
//! them).

use std::sync::atomic::{AtomicU32, Ordering};

/// This PE's position in the rings of a team.
#[derive(Debug, Default)]
pub struct RingPosition {
    /// Broadcasts and scans in which this PE has taken part.
    pub number: AtomicU32,
    /// The latest one that all members are known to have taken part in.
    pub taken_by_all: AtomicU32,
}

impl RingPosition {
    /// Whether there has been none.
    pub fn is_unused(&self) -> bool {
        self.number.load(Ordering::Relaxed) == 0
    }

    /// The position after `number` calls, in which all members have taken part.
    #[cfg(any(test, feature = "simulation"))]
    pub fn after(number: u32) -> Self {
        Self { number: AtomicU32::new(number), taken_by_all: AtomicU32::new(number) }
    }

    /// Whether all members are known to have taken part in call `number`.
    #[inline]
    pub fn is_taken(&self, number: u32) -> bool {
        let known = self.taken_by_all.load(Ordering::Relaxed);
        known.wrapping_sub(number).cast_signed() >= 0
    }

    /// Records that all members have taken part in call `number`.
    #[inline]
    pub fn set_taken(&self, number: u32) {
        if !self.is_taken(number) {
            self.taken_by_all.store(number, Ordering::Relaxed);
        }
    }
}

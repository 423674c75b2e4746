//! How far a PE is in a team's collectives, and in its rings of small broadcasts and scans (`group/ring.rs` explains
//! them).

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How far this PE is in the collectives of a team.
#[derive(Debug, Default)]
pub struct Position {
    /// Epochs begun so far (see [`crate::group::Epoch`]).
    pub epoch: AtomicU64,
    /// In the rings.
    pub ring: RingPosition,
}

impl Position {
    /// Of a team whose slots begin at an epoch.
    pub fn at(epoch: u64) -> Self {
        Self { epoch: AtomicU64::new(epoch), ring: RingPosition::default() }
    }

    /// After `number` epochs and small broadcasts, in which all members have taken part.
    #[cfg(any(test, feature = "simulation"))]
    pub fn after(number: u32) -> Self {
        let ring = RingPosition { number: AtomicU32::new(number), taken_by_all: AtomicU32::new(number) };
        Self { epoch: AtomicU64::new(number.into()), ring }
    }
}

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

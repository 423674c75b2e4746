//! Where a PE is in the small broadcasts of a team ([`crate::group`] says how they work).

use std::sync::atomic::{AtomicU32, Ordering};

/// Where this PE is in the broadcasts of a team.
#[derive(Debug, Default)]
pub struct Stream {
    /// Broadcasts taken part in.
    pub number: AtomicU32,
    /// All members are known to have taken this one.
    pub taken_by_all: AtomicU32,
}

impl Stream {
    /// Whether there were no broadcasts.
    pub fn is_unused(&self) -> bool {
        self.number.load(Ordering::Relaxed) == 0
    }

    /// After `number` broadcasts, which all have taken.
    #[cfg(test)]
    pub fn after(number: u32) -> Self {
        Self {
            number: AtomicU32::new(number),
            taken_by_all: AtomicU32::new(number),
        }
    }

    /// Whether all are known to have taken broadcast `number`.
    #[inline]
    pub fn is_taken(&self, number: u32) -> bool {
        let known = self.taken_by_all.load(Ordering::Relaxed);
        known.wrapping_sub(number).cast_signed() >= 0
    }

    /// Notes that all have taken broadcast `number`.
    #[inline]
    pub fn note_taken(&self, number: u32) {
        if !self.is_taken(number) {
            self.taken_by_all.store(number, Ordering::Relaxed);
        }
    }
}

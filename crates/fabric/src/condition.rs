//! Whether a peer is well.

use std::sync::atomic::{AtomicU32, Ordering::*};

/// What is known of a peer.
///
/// Operations to one that is not well go no further: libfabric does not get them, and no thread waits for room. Those
/// to a suspect stay incomplete, until it is lost, which completes them, or the owner ends the process.
#[derive(Default)]
pub(crate) struct Condition(AtomicU32);

pub(crate) const SUSPECT: u32 = 1;
pub(crate) const LOST: u32 = 2;

impl Condition {
    #[inline]
    pub(crate) fn is_well(&self) -> bool {
        self.0.load(Acquire) == 0
    }

    #[inline]
    pub(crate) fn is_lost(&self) -> bool {
        self.0.load(Acquire) == LOST
    }

    /// To [`SUSPECT`] or [`LOST`]; whether it was less.
    pub(crate) fn raise(&self, to: u32) -> bool {
        self.0.fetch_max(to, AcqRel) < to
    }
}

//! Counters of calls, bytes and time.

use std::time::Duration;

use ferroshmem_api::counter;

/// Kinds of routines that are counted.
///
/// As in the example of [`Counter::read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// All of these, and the others.
    All = 0,
    /// Puts, with and without a signal.
    Put,
    /// Gets.
    Get,
    /// Atomic operations.
    Atomic,
    /// Updates of signals without a put.
    Signal,
    /// Collectives, but allocations.
    Collective,
    /// Waits and tests for variables and signals.
    Wait,
    /// Fences and quiets.
    Quiet,
    /// Locks.
    Lock,
    /// Messages.
    Message,
}

/// What a PE has counted of its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls that have ended.
    pub operations: u64,
    /// Bytes that this PE moved by them.
    pub bytes: u64,
    /// Time in them.
    pub time: Duration,
}

impl Counter {
    /// What this PE has counted of its calls. Calls are counted if `SHMEM_COUNTERS=1`, as `oshrun --status` sets it;
    /// otherwise all is zero, and nothing is slower.
    ///
    /// ```
    /// use ferroshmem::Counter;
    ///
    /// let puts = Counter::Put.read();
    /// println!("{} bytes by {} puts in {:?}", puts.bytes, puts.operations, puts.time);
    /// ```
    pub fn read(self) -> Counted {
        let (operations, bytes, time) = counter::totals(self as usize);
        Counted { operations, bytes, time }
    }

    /// Begins to count all kinds again at zero, on this PE.
    ///
    /// ```
    /// use ferroshmem::Counter;
    ///
    /// Counter::reset_all();
    /// assert_eq!(Counter::Put.read().operations, 0);
    /// ```
    pub fn reset_all() {
        counter::reset_all();
    }
}

//! What FerroSHMEM's runtime and its fabric share of the operating system: [`futex`] sleeps on a word,
//! [`yield_core`] offers the core to other threads, [`Backoff`] decides when a thread that waits
//! polls, offers its core and sleeps.
//!
//! The crate `ferroshmem-core` waits for PEs of the same node and for what other nodes send,
//! `ferroshmem-fabric` for the completion of its operations. Both wait by the same [`Backoff`],
//! whose [`Limits`] are in one table.

mod backoff;
pub mod futex;

pub use backoff::{Backoff, Limits, Spins, Step};

use std::time::{Duration, Instant};

/// Offers the core to other threads; returns whether another thread ran on it.
pub fn yield_core() -> bool {
    /// The call takes longer than this only if another thread ran.
    const TAKEN: Duration = Duration::from_micros(2);

    let begin = Instant::now();
    std::thread::yield_now();
    begin.elapsed() > TAKEN
}

//! What FerroSHMEM's runtime and its fabric share of the operating system: [`futex`] sleeps on a word,
//! [`Core`] offers the core to other threads, [`watch`] waits for a store to a cache line, [`prefetch_for_write`] takes one to
//! this core, [`thread`] starts threads, [`Lifeline`] notices the end of a process, [`Backoff`] decides when a thread that waits polls,
//! offers its core and sleeps.
//!
//! The crate `ferroshmem-core` waits for PEs of the same node and for what other nodes send,
//! `ferroshmem-fabric` for the completion of its operations. Both wait by the same [`Backoff`],
//! whose [`Limits`] are in one table.

mod backoff;
pub mod futex;
mod lifeline;
mod offer;
mod prefetch;
pub mod thread;
mod watch;

pub use backoff::{Backoff, Limits, Spins, Step};
pub use lifeline::{Lifeline, Wait};
pub use offer::{Core, Scheduler};
pub use prefetch::{prefetch_for_read, prefetch_for_write};
pub use watch::watch;

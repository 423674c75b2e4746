//! One-sided access to the memory of PEs on other nodes, through libfabric.
//!
//! A PE opens a [`Fabric`], [shares](Fabric::share) its segments of memory, and hands its
//! [address](Fabric::address) to the other PEs, which [connect](Fabric::connect) with it. From then
//! on each PE reads and writes the segments of all others; a progress thread keeps operations going
//! while the program computes.
//!
//! An operation that fails for good does not return: [`Events::peer_failed`] ends the process, or has the fabric shut
//! down. An owner that can tell which PEs have died goes on [without them](Fabric::lose).
//!
//! It knows PEs as numbers, and their memory as segments and offsets; of the other crates it knows `platform`. It knows
//! nothing of heaps, teams or routines, nor how PEs come to each other's addresses.

mod address;
mod am;
#[doc(hidden)]
pub mod batches;
mod completion;
mod condition;
mod config;
pub mod discovery;
mod encoding;
#[doc(hidden)]
pub mod endpoint;
mod error;
mod event_count;
mod events;
mod fabric;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod issue;
#[doc(hidden)]
#[allow(missing_docs, reason = "libfabric's own names")]
pub mod libfabric;
mod lock;
mod memory;
mod operation;
mod progress;
mod queue;
pub mod registration;
mod requester;
mod rma;
mod tagged;

/// The library that is opened where no other is named: as the system's loader finds it.
pub const LIBFABRIC: &str = "libfabric.so.1";

/// A digest of this crate's sources: PEs that talk to each other have the same.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

pub use completion::{Context, Tracked};
pub use config::{Aggregate, Config};
pub use error::Error;
pub use events::Events;
pub use fabric::Fabric;
pub use memory::{Exposed, Exposure};
pub use operation::{AtomicOp, Blocks, Op, Remote, Width};
pub use tagged::TaggedMessage;

#[cfg(test)]
ferroshmem_platform::atomics!();

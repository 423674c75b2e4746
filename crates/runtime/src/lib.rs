//! FerroSHMEM from `shmem_init` to `shmem_finalize`: [`Runtime`] holds all of the library's state, [`lifecycle`] begins
//! and ends it, [`failure`] notices PEs that fail, jobs that hang and segmentation faults.
//!
//! It knows the crates `ferroshmem-core`, `-message` and `-stream`, whose state it holds, and no routine of the API:
//! the crate `ferroshmem-api` is over it.

pub mod context;
pub mod failure;
mod fork;
pub mod lifecycle;
pub mod lock;
mod runtime;

pub use self::runtime::{Runtime, current, get};

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

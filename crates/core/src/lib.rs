//! The runtime of FerroSHMEM: OpenSHMEM 1.6 for nodes whose PEs share memory.
//!
//! The crate `ferroshmem-api` makes routines of it; `libshmem` and the Rust API are over that one. Programs use
//! one of those; this one changes as they need it. It knows the crates below: settings, the layout of the job's memory,
//! the fabric, launchers, the processor. It knows no routine of the API, no collective, message or stream: these are
//! crates over it.
//!
//! How a put travels: `ferroshmem_api::rma` → `runtime` (which context, which PE) → `transport` (where the PE's copy
//! is, by `memory`) → a copy, or for a PE of another node the crate `ferroshmem-fabric`. The inlined form in `shmem.h`
//! does the same arithmetic.

// Public are the parts that the crates above need, and their descriptions name others.
#![allow(rustdoc::private_intra_doc_links)]

pub mod barrier;
pub mod connection;
pub mod constants;
pub mod failure;
mod futex;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod group;
pub mod handle;
pub mod hooks;
pub mod info;
pub mod internode;
pub mod job;
pub mod memory;
pub mod node;
pub mod offload;
pub mod point;
#[cfg(any(test, feature = "simulation"))]
pub mod simulation;
pub mod sources;
pub mod team;
pub mod transport;
pub mod wait;

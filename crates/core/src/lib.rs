//! The runtime of FerroSHMEM: OpenSHMEM 1.6 for nodes whose PEs share memory.
//!
//! It has two users: the crate `ferroshmem-sys`, which is the C API (`libshmem`), and the crate
//! `ferroshmem`, which is the Rust API. Programs use one of those; this one changes as they need it.
//!
//! How a put travels: `api::rma` → `runtime` (which context, which PE) → `transport` (where the
//! PE's copy is, by `memory`) → a copy, or for a PE of another node the crate `ferroshmem-fabric`. The inlined form in `shmem.h` does the same arithmetic.

// Public are the parts that the two users need, and their descriptions name others.
#![allow(rustdoc::private_intra_doc_links)]

pub mod api;
pub mod barrier;
pub mod choice;
pub mod collective;
pub mod config;
mod connection;
pub mod constants;
mod context;
mod failure;
mod fork;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod group;
mod handle;
pub mod hooks;
pub mod info;
pub mod job;
pub mod kernel;
mod lifecycle;
mod lock;
mod memory;
pub mod message;
mod node;
pub mod offload;
pub mod platform;
mod point;
pub mod profiling;
mod runtime;
#[cfg(test)]
mod simulation;
pub mod stream;
mod team;
mod transport;
pub mod wait;

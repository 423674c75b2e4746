//! FerroSHMEM: OpenSHMEM 1.6 for nodes whose PEs share memory.
//!
//! The C API is in the crate `ferroshmem-sys` (`libshmem`); this crate is the runtime under it.
//! How a put travels: `api::rma` → `context` (which PE) → `symmetric` and `memory::space`
//! (where its copy is) → a copy. The inlined form in `shmem.h` does the same arithmetic.

pub mod api;
pub mod barrier;
pub mod choice;
pub mod collective;
mod context;
pub mod env;
mod fatal;
mod fault;
mod fork;
mod group;
mod handle;
pub mod hooks;
pub mod info;
pub mod job;
pub mod kernel;
mod lifecycle;
mod lock;
mod memory;
pub mod platform;
mod point;
mod runtime;
mod symmetric;
mod team;
pub mod wait;

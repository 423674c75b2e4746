//! What `oshrun --check` finds: memory that calls access wrongly, and accesses that race.
//!
//! The functions of `libshmem-check.so`, which `oshrun` has the PEs load before the library, hand each call to
//! `entry`. What is found goes into a file that all PEs and `oshrun` map ([`layout`]), so it is there however a PE
//! ends; `oshrun` names lines and variables when the job has ended. PEs that share no file with `oshrun` tell it by TCP
//! what they do ([`Server`]).
//!
//! It knows the job's settings (`config`) and what a PE may learn of its job (`core`). It changes nothing of what a
//! call does, and no crate of the library knows it.

pub mod call;
mod entry;
pub mod finding;
mod globals;
mod hidden;
mod job;
pub mod layout;
pub mod library;
pub mod members;
pub mod memory;
mod own_memory;
pub mod race;
mod records;
mod remote;
mod server;
pub mod shared;
pub mod sites;
pub mod span;

pub use server::Server;

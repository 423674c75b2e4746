//! How jobs find each other (extension): ports that PEs open and others connect to, the names that they are published
//! by, and the coordinator at which the members of a connection between nodes join (`docs/spawn.md`).
//!
//! The crate gives sockets and invitations; `ferroshmem_core::connection` makes connections of them. It knows that
//! crate, and no routine of the API.

pub mod coordinator;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod handshake;
mod listener;
pub mod names;
pub mod port;
pub mod port_error;
pub mod port_name;
pub mod remote_port;
pub mod started;

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

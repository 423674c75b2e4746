//! The families, by chapter of the standard.

pub mod active_set;
pub mod amo;
pub mod collective;
pub mod extensions;
pub mod group;
pub mod p2p;
pub mod rma;
pub mod setup;
pub mod signal;

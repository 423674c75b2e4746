//! The families, by chapter of the standard.

pub mod active_set;
pub mod amo;
pub mod collective;
pub mod counter;
pub mod group;
pub mod message;
pub mod p2p;
pub mod port;
pub mod region;
pub mod rma;
pub mod setup;
pub mod signal;
pub mod space;
pub mod spawn;
pub mod stream;
pub mod threads;

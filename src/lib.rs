//! FerroSHMEM: OpenSHMEM 1.6 for nodes whose PEs share memory.
//!
//! The C API is in the crate `ferroshmem-sys` (`libshmem`); this crate is the runtime under it.

pub mod env;
pub mod info;
pub mod job;
pub mod platform;

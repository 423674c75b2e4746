//! Sleeping on a 32-bit word that may live in memory shared between processes.

pub use ferroshmem_platform::futex::{ANY, wait, wake};

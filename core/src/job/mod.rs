//! Who am I, and who shares my node: how a process becomes a PE of a job.

pub mod plan;
pub mod region;

pub mod control;

mod attach;

pub use attach::{Attachment, JOB_VARIABLE};

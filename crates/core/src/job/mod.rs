//! Who am I, and who shares my node: how a process becomes a PE of a job.

pub mod plan;
pub mod region;

pub mod control;
pub mod mailboxes;

mod attach;
mod gathering;

pub use attach::{Attachment, join, joined};
pub use ferroshmem_bootstrap::{NodeRank, Placement};
pub use mailboxes::Mailboxes;

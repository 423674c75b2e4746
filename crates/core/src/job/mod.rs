//! How a process becomes a PE of a job: its number, its node, and the node's shared memory.

pub mod plan;

pub mod adoption;
pub mod control;
pub mod declaration;
pub mod mailboxes;
pub mod message;
pub mod service;
pub mod streams;

mod attach;
mod business_card;
mod error;
mod localities;
mod part;
mod process_group;

pub use attach::{
    Attachment, NoService, abort, has_tried_to_join, join, joined, launcher_of_unjoined, reports_unjoined,
};
pub use business_card::BusinessCard;
pub use error::JoinError;
pub use ferroshmem_bootstrap::{NodeRank, Placement};
pub use localities::Localities;
pub use mailboxes::Mailboxes;
pub use streams::StreamAreas;

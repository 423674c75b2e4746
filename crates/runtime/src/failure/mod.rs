//! What ends a job although this PE does nothing wrong, or without its knowing: segmentation faults (`fault`), PEs that
//! fail ([`detector`], `notice`) and jobs that hang (`hang`); and, where the job goes on, how PEs of one node notice
//! those that fail ([`node_watch`]), those of other nodes learn of it ([`failed_pes`]), and nodes that are cut off end
//! (`membership`, `node_quorum`).

pub mod detector;
pub mod failed_pes;
pub(crate) mod fault;
pub(crate) mod hang;
mod heartbeat_age;
mod membership;
mod node_quorum;
pub mod node_watch;
pub(crate) mod notice;
mod operand;
mod successor;

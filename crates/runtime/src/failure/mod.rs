//! What ends a job although this PE does nothing wrong, or without its knowing: segmentation faults (`fault`), PEs
//! that fail ([`detector`], `notice`) and jobs that hang (`hang`).

pub mod detector;
pub(crate) mod fault;
pub(crate) mod hang;
mod heartbeat_age;
pub(crate) mod notice;
mod operand;
mod successor;

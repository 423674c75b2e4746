//! Waiting: the one place where a PE stands still (see `README.md` beside this file).

pub mod counter;
mod far;
pub mod flag;
pub mod record;
pub mod strategy;
pub mod ticket;
pub mod word;

pub use record::WaitReason;
pub use strategy::{POLICY, Policy, WaitStrategy, Waiter};
pub use word::Word;

//! Waiting for PEs of this node and for what other nodes send (see `README.md` beside this file).

pub mod counter;
pub mod flag;
pub mod record;
pub mod signals;
pub mod strategy;
pub mod ticket;
pub mod word;

pub use record::WaitReason;
pub use strategy::{Next, POLICY, Policy, WaitStrategy, Waiter};
pub use word::Word;

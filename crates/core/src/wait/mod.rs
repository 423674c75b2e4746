//! Waiting for PEs of this node and for what other nodes send (see `README.md` beside this file).

pub mod attend;
mod budget;
pub mod counter;
pub mod flag;
mod idle_thread;
mod looks;
pub mod record;
pub mod rendezvous;
pub mod signals;
pub mod strategy;
pub mod ticket;
pub mod word;

pub use idle_thread::Rest;
pub use looks::looked_at;
pub use record::WaitReason;
pub use rendezvous::Rendezvous;
pub use strategy::{Fairness, Next, POLICY, Policy, Spins, WaitStrategy, Waiter};
pub use word::Word;

//! Waiting for PEs of this node and for what other nodes send (see `README.md` beside this file).

mod budget;
pub mod counter;
pub mod flag;
pub mod idle_thread;
mod polls;
pub mod progress;
pub mod record;
pub mod rendezvous;
pub mod signals;
pub mod strategy;
pub mod suspension;
pub mod ticket;
pub mod word;

pub use idle_thread::Rest;
pub use polls::polled;
pub use record::{Ending, WaitReason};
pub use rendezvous::Rendezvous;
pub use strategy::{Fairness, Next, POLICY, Policy, Spins, WaitStrategy, Waiter};
pub use word::Word;

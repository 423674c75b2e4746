//! Waiting: the one place where a PE stands still (see `README.md` beside this file).

pub mod counter;
mod far;
pub mod flag;
pub mod patience;
pub mod record;
pub mod signals;
pub mod ticket;
pub mod word;

pub use patience::{POLICY, Patience, Policy, Waiter};
pub use record::What;
pub use word::Word;

//! The element loops of collectives: folding arrays with an operator, and copying.
//!
//! [`Reduce::fold`] reads each source once. It takes [up to eight](fold) of them at a time, so
//! that the processor's prefetchers keep up, and keeps what it has so far in the first-level
//! cache. A pass over so many sources is written once for all types and operators ([`pass`])
//! and compiled for each kind of vector registers ([`level`], [`vector`]).

mod copy;
mod exact;
mod fold;
mod level;
pub mod ops;
mod pass;
mod superaccumulator;
#[cfg(test)]
mod tests;
mod vector;

pub use copy::{copy, stream, streaming_pays};
pub use level::Level;
pub use ops::Reduce;

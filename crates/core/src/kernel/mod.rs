//! The element loops of collectives: folding arrays with an operator, and copying.
//!
//! [`Reduce::fold`] reads each source once. It takes as many at a time as the processor's
//! prefetchers follow, and keeps what it has so far in the first-level cache (`fold`). A pass
//! over so many sources is written once for all types and operators (`pass`) and compiled for
//! each kind of vector registers, of which the best are chosen at run time (`level`, `vector`,
//! `registers`).
//! [`Reduce::fold_exact`] adds without rounding errors (`exact`, `superaccumulator`).

mod copy;
mod exact;
mod fold;
mod level;
mod operation;
pub mod ops;
mod pass;
#[cfg(target_arch = "x86_64")]
mod registers;
mod superaccumulator;
#[cfg(test)]
mod tests;
mod vector;

pub use copy::{copy, stream, streaming_pays};
pub use level::Level;
pub use operation::Operation;
pub use ops::Reduce;

//! The differential fuzzer: jobs of `c/fuzz` with random sequences, and what they differ in.
//!
//! A seed determines everything: the sequence, the number of PEs and threads, the environment, the hosts.
//! A sequence that fails is shrunk: what is left out of it is given to the program as a list.

mod campaign;
mod sequence;
mod shrink;

pub use campaign::{Campaign, Finding};
pub use sequence::{Place, Sequence};
pub use shrink::LeftOut;

//! Compares the library with the bare hardware and with other implementations.
//!
//! The measured code is C, in `c/`. Its programs do the same work in two ways, in turn, in many
//! short rounds; `benches/ratios` runs them. The one in `c/collectives/` is built with each
//! implementation; `benches/collectives` lets the implementations work in turn. `tests/` checks
//! what can be checked without a clock.
//!
//! Finding implementations, starting jobs, waiting for an idle machine and reading output is the
//! same as in `pgas-microbench`, whose library does it.

pub mod bar;
pub mod build;
pub mod comparison;
pub mod counting;
pub mod job;
pub mod options;
pub mod outcome;
pub mod round;
pub mod sampler;
pub mod start;
pub mod surroundings;
pub mod table;

pub use bar::Bar;
pub use build::{Build, Builder, Source};
pub use comparison::Comparison;
pub use job::Job;
pub use options::Options;
pub use outcome::Outcome;
pub use round::Round;
pub use sampler::Sampler;
pub use start::Start;
pub use table::{LiveTable, Table};

/// The compiler under `oshcc`, and the installation.
pub use ferroshmem_conformance::{Compiler, Prefix};

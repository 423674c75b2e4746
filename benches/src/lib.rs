//! Compares the library with the bare hardware and with other implementations.
//!
//! The measured code is C, in `c/`. Its programs do the same work in two ways, in turn, in many
//! short rounds, which `benches/ratios` orders. The one in `c/collectives/` is built with each
//! implementation; `benches/collectives` lets them work in turn. `tests/` looks at what needs no
//! clock.

pub mod bar;
pub mod build;
pub mod contest;
pub mod implementation;
pub mod job;
pub mod microbench;
pub mod options;
pub mod outcome;
pub mod quiet;
pub mod ratios;
pub mod round;
pub mod session;
pub mod sheet;
pub mod spread;
pub mod start;
pub mod table;

pub use bar::Bar;
pub use build::{Build, Source, Workshop};
pub use contest::Contest;
pub use implementation::{Implementation, Setting};
pub use job::Job;
pub use options::Options;
pub use outcome::Outcome;
pub use quiet::Quiet;
pub use round::Round;
pub use session::Session;
pub use sheet::Sheet;
pub use spread::Spread;
pub use start::Start;
pub use table::Table;

/// The compiler under `oshcc`, and the installation.
pub use ferroshmem_conformance::{Compiler, Prefix};

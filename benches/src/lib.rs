//! Compares the library with the bare hardware.
//!
//! The measured code is C, in `c/`: each program does the same work in two ways, in turn, in
//! many short rounds. `benches/ratios.rs` orders the rounds and says what the ratios are;
//! `tests/` looks at what needs no clock.

pub mod bar;
pub mod build;
pub mod round;
pub mod session;
pub mod spread;
pub mod start;
pub mod table;

pub use bar::Bar;
pub use build::{Build, Source, Workshop};
pub use round::Round;
pub use session::Session;
pub use spread::Spread;
pub use start::Start;
pub use table::Table;

/// The compiler under `oshcc`, and the installation.
pub use ferroshmem_conformance::{Compiler, Prefix};

//! Runs C programs as jobs of several PEs and looks at how they end.
//!
//! The programs are in `c/`; they verify themselves and exit non-zero where something
//! differs. The tests in `tests/` say which program runs how: compiler, flags, number of
//! PEs, environment. Every job runs under a watchdog and must leave no process behind.

pub mod choices;
pub mod cluster;
pub mod compile;
pub mod environment;
pub mod fuzz;
pub mod generated;
pub mod guide;
pub mod job;
pub mod leftovers;
pub mod make;
pub mod npb;
pub mod openmpi;
pub mod prefix;
pub mod preload;
pub mod programs;
pub mod progress;
pub mod refusal;
pub mod suite;
pub mod target;
pub mod tool;

pub use compile::{Build, Compiler, Language};
pub use job::{Job, Outcome};
pub use openmpi::OpenMpi;
pub use prefix::Prefix;
pub use suite::Suite;

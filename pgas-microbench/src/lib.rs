//! Runs the PGAS microbenchmarks, STREAM and NAS IS and SP with this library and with every other
//! OpenSHMEM and MPI found on the machine, and reports what it measured: one CSV file, plots, and
//! one HTML page.
//!
//! [`implementation`] finds the libraries, [`plan`] lists the runs, [`campaign`] executes them
//! ([`build`] builds the programs, [`job`] runs one, [`output`] reads what it prints), and
//! [`report`] shows the [`Measurement`]s.
//!
//! The benchmarks in `benches/` use the same [`implementation`], [`build`], [`job`], [`machine`],
//! [`output`] and [`Spread`].

pub mod build;
pub mod campaign;
pub mod folder;
pub mod implementation;
pub mod job;
pub mod machine;
pub mod measurement;
pub mod options;
pub mod output;
pub mod plan;
pub mod progress;
pub mod report;
pub mod spread;

pub use measurement::{Measurement, Quantity};
pub use spread::Spread;

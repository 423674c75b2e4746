//! Runs the PGAS microbenchmarks, STREAM and NAS IS and SP with this library and with every other
//! OpenSHMEM and MPI found on the machine, and reports what it measured: one CSV file, plots, and
//! one HTML page.

pub mod measurement;
pub mod report;

pub use measurement::{Measurement, Quantity};

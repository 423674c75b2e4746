//! Several hosts on one machine, for tests.

pub mod hosts;
pub mod machines;

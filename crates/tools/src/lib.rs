//! What the commands of FerroSHMEM are made of.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod inspect;
pub mod launch;
pub mod profile;
pub mod trace;
pub mod tune;
pub mod wrapper;

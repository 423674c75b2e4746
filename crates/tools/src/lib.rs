//! What the commands of FerroSHMEM are made of.

pub mod launch;
pub mod tune;
pub mod wrapper;

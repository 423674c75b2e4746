//! What the commands of FerroSHMEM are made of: `oshrun` ([`launch`]), `oshcc` and its like ([`wrapper`]), `oshtune`
//! ([`tune`]), and the pages that [`profile`] and [`trace`] make of what PEs have recorded.
//!
//! They know the job's memory (`layout`) and settings (`config`), because the launcher makes the one and passes on the
//! others, and what `check` finds. Of the routines they call those that `oshtune` measures. No library knows them: a PE
//! and its launcher share files, sockets and the environment alone.

#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod inspect;
pub mod launch;
mod page;
pub mod profile;
pub mod terminal;
mod topology;
pub mod trace;
pub mod tune;
mod whole_file;
pub mod wrapper;

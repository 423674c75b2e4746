//! Which algorithm a collective uses: which ones exist, which one the user forces, which one is
//! fastest on this machine.
//!
//! ```text
//! Collective ── choices() ──► Choice = Algorithm + Form       the registry
//! Forced                      SHMEM_<COLLECTIVE>_ALGORITHM
//! Tuning                      parameters and rules that oshtune measured, in the job's memory
//! Costs                       the cost model, where nothing was measured
//!    └─────► Selection ── decisions(team's shape) ──► DecisionTable ── choose(collective, bytes) ──► Choice
//! ```
//!
//! The crate knows numbers of PEs, cores and bytes; it knows nothing of memory, processes or the system.
//!
//! Every choice depends only on facts that all PEs of the job share, so all members of a team
//! choose alike.

/// A digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

mod algorithm;
mod collective;
mod costs;
mod decision_table;
mod forced;
mod selection;
mod shape;
mod tuning;

pub use algorithm::{Algorithm, Choice, Form};
pub use collective::Collective;
pub use costs::{Costs, Parameter, Parameters};
pub use decision_table::{DecisionTable, Steps, overriding};
pub use forced::Forced;
pub use selection::{Origin, Selection};
pub use shape::Shape;
pub use tuning::{CopySizes, Rules, Tuning};

/// Bytes of source that the eager algorithms copy into library memory for each member.
pub const EAGER: usize = 2048;
/// Most members of a pipelined scan, each of which waits for each one before it.
pub const SCAN_RING_MEMBERS: usize = 16;
/// Small broadcasts and scans that may be under way at once in a team.
pub const RING_ENTRIES: usize = 8;
/// Bytes of a value of them.
pub const RING_BYTES: usize = 440;
/// As many of at most [`FLAG_BYTES`] may be under way: where PEs share cores, one that runs ahead so far
/// saves as many switches.
pub const SHORT_RING_ENTRIES: usize = 64;
/// Bytes of value that travel in the cache line of a flag.
pub const FLAG_BYTES: usize = 56;

//! Which algorithm a collective uses: what exists, what the user forces, what pays here.
//!
//! ```text
//! Collective ── choices() ──► Choice = Algorithm + Form       the registry
//! Forced                      SHMEM_<COLLECTIVE>_ALGORITHM
//! Tuning                      parameters and rules that oshtune measured, in the job's memory
//! Costs                       the cost model, where nothing was measured
//!    └─────► Selection ── plan(team size) ──► Plan ── choose(collective, bytes) ──► Choice
//! ```
//!
//! All of it depends on facts of the job alone, so that all members of a team choose alike.

mod algorithm;
mod collective;
mod costs;
mod forced;
pub mod paper;
mod plan;
mod selection;
mod tuning;

pub use algorithm::{Algorithm, Choice, Form};
pub use collective::Collective;
pub use costs::{Costs, Parameter, Parameters};
pub use forced::Forced;
pub use plan::{Plan, Steps, overriding};
pub use selection::{ForcedDiffers, Origin, Selection};
pub use tuning::{Rules, Tuning};

/// Bytes of source that the eager algorithms copy into library memory for each member.
pub const EAGER: usize = 2048;

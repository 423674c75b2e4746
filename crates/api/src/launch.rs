//! Whether a launcher has started this process, for programs that start their PEs themselves.

use std::path::PathBuf;

pub use ferroshmem_core::job::adoption::AdoptionError;

use ferroshmem_config as config;
use ferroshmem_core::job::{self, adoption};

/// Whether a launcher has started this process as a PE.
pub fn is_launched() -> bool {
    // A process joins its job once, and removes oshrun's variable then. One alone has made its job itself.
    let is_one_of_several = job::joined().is_some_and(|joined| joined.n_pes() > 1);
    is_one_of_several || config::handover().is_some() || ferroshmem_bootstrap::is_launched()
}

/// The `oshrun` of this library.
///
/// # Errors
/// If there is none.
pub fn oshrun() -> Result<PathBuf, AdoptionError> {
    adoption::find()
}

//! Collective calls of teams (standard, "Collective Routines").
//!
//! Each begins with a step, at which the members compare their calls, so that no member can make
//! another write outside of its arrays.

mod arrays;
mod by_function;
mod nonblocking;
mod operator;
mod rooted;
mod values;

pub use crate::memory::{Part, PartMut};
pub use nonblocking::{CollectiveRequest, Collectives};
pub use operator::{And, Max, Min, Operator, Or, Prod, Reducible, Sum, Xor};
use operator::{reduction, scan_details};

use crate::error::TeamError;

/// What a collective of the runtime returns: of a team that exists.
fn done(status: i32) -> Result<(), TeamError> {
    match status {
        0 => Ok(()),
        _ => Err(TeamError::GroupFailed),
    }
}

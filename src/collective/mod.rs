//! Collective calls of teams (standard, "Collective Routines").
//!
//! Each begins with a step, at which the members compare their calls, so that no member can make
//! another write outside of its arrays.

mod arrays;
mod operator;
mod scratch;
mod values;

pub use crate::memory::{Part, PartMut};
use operator::reduction;
pub use operator::{And, Max, Min, Operator, Or, Prod, Reducible, Sum, Xor};
pub(crate) use scratch::Scratch;

//! Collective calls of teams (standard, "Collective Routines").
//!
//! Each is a step first, at which the members compare what they are about, so that no member can
//! make another write where it does not expect it.

mod arrays;
mod operator;
mod scratch;
mod values;

pub use crate::memory::{Part, PartMut};
use operator::reduction;
pub use operator::{And, Max, Min, Operator, Or, Prod, Reducible, Sum, Xor};
pub(crate) use scratch::Scratch;

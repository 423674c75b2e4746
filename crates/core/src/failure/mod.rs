//! What ends a job before its time: misuse that the library sees ([`fatal`]; [`checks`] says how much it
//! looks at), segmentation faults
//! ([`fault`]), PEs that fail ([`detector`], [`notice`]), jobs that hang ([`hang`]), and debuggers on any of these ([`debugger`]).

mod caller;
pub mod checks;
pub(crate) mod debugger;
pub(crate) mod detector;
pub mod fatal;
pub(crate) mod fault;
pub(crate) mod hang;
pub(crate) mod notice;
mod operand;
mod silence;
mod successor;

//! What ends a job before its time: misuse that the library sees ([`fatal`]; [`checks`] says how much it
//! looks at), segmentation faults
//! ([`fault`]), and PEs that fail ([`detector`], [`notice`]).

mod caller;
pub(crate) mod checks;
pub(crate) mod detector;
pub(crate) mod fatal;
pub(crate) mod fault;
pub(crate) mod notice;
mod operand;
mod silence;
mod successor;

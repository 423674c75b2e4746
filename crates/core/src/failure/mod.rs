//! What ends a job before its time: misuse that the library sees ([`fatal`]), segmentation faults
//! ([`fault`]), and PEs that fail ([`detector`], [`notice`]).

pub(crate) mod detector;
pub(crate) mod fatal;
pub(crate) mod fault;
pub(crate) mod notice;
mod operand;

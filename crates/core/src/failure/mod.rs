//! WaitReason ends a job before its time: misuse that the library sees ([`fatal`]), segmentation faults
//! ([`fault`]), and PEs that fail ([`detector`], [`notice`]).

pub mod detector;
pub mod fatal;
pub mod fault;
pub mod notice;

//! Virtual machines with an RDMA device in software, for tests over real verbs.
//!
//! [`Machines::boot`] starts QEMU with Debian's kernel, whose module `rdma_rxe` makes an RDMA
//! device (Soft-RoCE) of a network card. The machines see this machine's files, read-only below
//! and changed for themselves alone, so programs built here run there. [`Machines::run`] starts
//! the PEs of a job in them and serves PMI-1, by which they exchange addresses.
//!
//! A program that boots machines calls [`guest::main`] if its first argument is [`guest::ARGUMENT`], as [`run_trials`]
//! does: the first process of each machine is the same program.

mod boot;
pub mod guest;
mod image;
mod job;
mod kernel;
mod message;
mod modules;
mod needs;
mod on_demand;
pub mod pmi;
mod qemu;
mod trials;
mod vms;

pub use boot::{NumaNode, Setup};
pub use job::{End, Ended, Job, Outcome, Pe};
pub use kernel::Kernel;
pub use on_demand::OnDemand;
pub use trials::run_trials;
pub use vms::Machines;

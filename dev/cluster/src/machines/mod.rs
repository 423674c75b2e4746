//! Virtual machines with an RDMA device in software, for tests over real verbs.
//!
//! [`Machines::boot`] starts QEMU with Debian's kernel, whose module `rdma_rxe` makes an RDMA
//! device (Soft-RoCE) of a network card. The machines see this machine's files, read-only below
//! and changed for themselves alone, so programs built here run there. [`Machines::run`] starts
//! the PEs of a job in them and serves PMI-1, by which they find each other.
//!
//! Whoever uses this calls [`guest::main`] where its program is started with the argument
//! [`guest::ARGUMENT`]: that is how it is the machines' first process.

mod boot;
mod cluster;
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

pub use boot::Setup;
pub use cluster::Machines;
pub use job::{End, Ended, Job, Outcome, Pe};
pub use kernel::Kernel;
pub use on_demand::OnDemand;

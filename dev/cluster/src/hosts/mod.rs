//! Hosts made of namespaces: two to four on one machine, with a network of their own.
//!
//! Each has its own network, host name, System V IPC, process ids, `/proc`, `/run` and `/dev/shm`;
//! files are the machine's. A bridge joins them. A rig lives in a PID namespace whose first
//! process ends when the process that made the rig does, in whatever way: then the kernel ends
//! all processes of the hosts, and their network goes with them.
//!
//! Programs that make rigs call [`roles::play`] first thing in `main`: the rig's own processes,
//! and what launchers take for `ssh`, are this very program under other names.

mod agent;
mod init;
mod keeper;
pub mod launcher;
mod network;
pub mod process;
mod relay;
mod rig;
pub mod roles;
pub mod slurm;
mod wire;

pub use launcher::{Launcher, Order, Placement};
pub use network::{Impairment, SUBNET};
pub use process::{Command, Process};
pub use rig::{HostProcess, Rig};
pub use slurm::Slurm;

/// Hosts that a rig can have.
pub const MOST_HOSTS: usize = NAMES.len();

/// Their names, in order.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The rig's folder, the same in all hosts.
const SHARED: &str = "/run/rig";

/// What launchers use in place of `ssh`; a path in the hosts.
pub const AGENT: &str = "/run/rig/bin/rig-agent";

//! Hosts made of namespaces: two to four on one machine, with a network of their own.
//!
//! Each has its own network, host name, System V IPC, process ids, `/proc`, `/run` and `/dev/shm`;
//! files are the machine's. A bridge joins them. A cluster lives in a PID namespace whose first
//! process, the supervisor, ends when the process that made the cluster ends, `kill -9` included: then the
//! kernel ends all processes of the hosts, and their network with them.
//!
//! A program that makes clusters calls [`applets::dispatch`] first in `main`: the cluster's processes and
//! the command that launchers run instead of `ssh` are the same program under other names.

mod agent;
pub mod applets;
mod cluster;
mod init;
pub mod launcher;
mod network;
pub mod process;
mod relay;
pub mod slurm;
mod supervisor;
mod wire;

pub use cluster::{Cluster, HostProcess};
pub use init::hide_kernel_symbols;
pub use launcher::{Distribution, Launcher, Placement};
pub use network::{Impairment, SUBNET};
pub use process::{Command, Process};
pub use slurm::Slurm;

/// Hosts that a cluster can have.
pub const MOST_HOSTS: usize = NAMES.len();

/// Their names, in order.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// The cluster's folder, the same in all hosts.
const SHARED: &str = "/run/cluster";

/// The command that launchers run instead of `ssh`; a path in the hosts.
pub const AGENT: &str = "/run/cluster/bin/cluster-agent";

//! A job on several hosts, as the command line describes it.

use std::ffi::OsString;

use clap::ValueEnum;

use super::allocation::Allocation;
use super::list::{self, Host};

/// Kinds of launchers, which differ in their options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LauncherKind {
    /// Slurm's srun, inside an allocation
    Slurm,
    /// mpiexec.hydra, of MPICH and its relatives
    Hydra,
    /// mpirun of Open MPI
    Openmpi,
    /// prterun, of PRRTE
    Prte,
    /// The program given is a launcher, with its own options; oshrun sets the environment of its PEs
    Command,
}

/// Where the PEs of a job on several hosts go, and how they are started there.
#[derive(Debug)]
pub(in crate::launch) struct HostLaunch {
    pub(super) source: HostSource,
    /// PEs per host, where the launcher finds the hosts.
    pub(super) ppn: Option<usize>,
    /// The only launcher to use.
    pub(super) kind: Option<LauncherKind>,
    /// Options for it that `oshrun` does not know.
    pub(super) extra: Vec<OsString>,
    /// The command by which it reaches a host, and its first arguments; `ssh` if empty.
    pub(super) agent: Vec<String>,
    /// Whether the launcher is to go on when a PE fails.
    pub(super) resilient: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum HostSource {
    /// These hosts, each with its slots.
    Hosts(Vec<Host>),
    /// The allocation of Slurm's, which every launcher finds by itself.
    Allocation(Allocation),
    /// Those that the command given names.
    Command,
}

impl HostLaunch {
    /// Number of PEs where the user gives none.
    pub(in crate::launch) fn default_pes(&self) -> Option<usize> {
        match &self.source {
            HostSource::Hosts(hosts) => Some(list::slots(hosts)),
            HostSource::Allocation(allocation) => match self.ppn {
                Some(ppn) => Some(ppn * allocation.nodes),
                None => allocation.default_pes(),
            },
            // It has its own.
            HostSource::Command => Some(1),
        }
    }

    /// The hosts with their slots in the form that most launchers read: `a:4,b:4`.
    pub(super) fn host_list(&self) -> Option<String> {
        match &self.source {
            HostSource::Hosts(hosts) => {
                let items: Vec<String> = hosts.iter().map(Host::to_string).collect();
                Some(items.join(","))
            }
            HostSource::Allocation(_) | HostSource::Command => None,
        }
    }
}

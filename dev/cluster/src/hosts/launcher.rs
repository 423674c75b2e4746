//! Launchers that start jobs on several hosts, and how their commands say what we mean.

use super::{AGENT, NAMES, SUBNET};
use anyhow::{Result, ensure};
use std::env;
use std::fmt;

/// A launcher, and the interface by which its processes know each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Launcher {
    /// MPICH's `mpiexec`: PMI-1.
    Hydra,
    /// Open MPI's `mpirun`: PMIx.
    OpenMpi,
    /// Slurm's `srun --mpi=pmi2`: PMI-1 and PMI-2.
    SlurmPmi2,
    /// Slurm's `srun --mpi=pmix`.
    SlurmPmix,
}

/// Where consecutive PEs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Distribution {
    /// On one host, until it is full.
    Block,
    /// On one host after the other.
    RoundRobin,
}

/// A number of PEs on a number of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Number of PEs.
    pub pes: usize,
    /// Number of hosts, the first of the cluster.
    pub hosts: usize,
    /// Which PE is where.
    pub distribution: Distribution,
}

impl Placement {
    /// The host of each PE, as numbers.
    pub fn hosts_of_pes(&self) -> Vec<usize> {
        let full = self.pes.div_ceil(self.hosts);
        let host = |pe| match self.distribution {
            Distribution::Block => pe / full,
            Distribution::RoundRobin => pe % self.hosts,
        };
        (0..self.pes).map(host).collect()
    }

    fn names(&self) -> Vec<String> {
        NAMES[..self.hosts].iter().map(ToString::to_string).collect()
    }

    fn full(&self) -> usize {
        self.pes.div_ceil(self.hosts)
    }
}

impl Launcher {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Hydra, Self::OpenMpi, Self::SlurmPmi2, Self::SlurmPmix];

    /// Its name in tests and options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hydra => "hydra",
            Self::OpenMpi => "openmpi",
            Self::SlurmPmi2 => "slurm-pmi2",
            Self::SlurmPmix => "slurm-pmix",
        }
    }

    /// Whether it needs [`super::Slurm`].
    pub fn is_slurm(self) -> bool {
        matches!(self, Self::SlurmPmi2 | Self::SlurmPmix)
    }

    /// The commands that it consists of, and Debian's packages of them.
    fn parts(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Hydra => &[("mpiexec.hydra", "mpich")],
            Self::OpenMpi => &[("mpirun.openmpi", "openmpi-bin")],
            Self::SlurmPmi2 | Self::SlurmPmix => {
                &[("srun", "slurm-client"), ("slurmd", "slurmd"), ("slurmctld", "slurmctld"), ("munged", "munge")]
            }
        }
    }

    /// Checks that it is installed.
    ///
    /// # Errors
    /// If a command of it is missing; says in which package it is.
    pub fn check(self) -> Result<()> {
        for (command, package) in self.parts() {
            let path = env::var_os("PATH").unwrap_or_default();
            let standard = ["/usr/sbin".into(), "/usr/bin".into()];
            let found = env::split_paths(&path).chain(standard).any(|folder| folder.join(command).is_file());
            ensure!(found, "{command} is not installed (package {package})");
        }
        Ok(())
    }

    /// The command line, for the first host, that starts a program.
    /// `variables` are names of variables that the PEs shall have from the launcher.
    pub fn words(self, place: &Placement, variables: &[&str], program: &[String]) -> Vec<String> {
        let (pes, full) = (place.pes.to_string(), place.full());
        let slots = |full: usize| {
            let slots = place.names().into_iter().map(|n| format!("{n}:{full}"));
            slots.collect::<Vec<_>>().join(",")
        };
        let block = place.distribution == Distribution::Block;
        let mut words: Vec<String> = Vec::new();
        let mut add = |more: &[&str]| words.extend(more.iter().map(|w| (*w).to_owned()));
        match self {
            Self::Hydra => {
                let hosts = slots(if block { full } else { 1 });
                add(&["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", AGENT]);
                add(&["-hosts", &hosts, "-n", &pes]);
            }
            Self::OpenMpi => {
                add(&["mpirun.openmpi", "--mca", "plm_rsh_agent", AGENT]);
                add(&["--mca", "oob_tcp_if_include", SUBNET]);
                add(&["--mca", "btl_tcp_if_include", SUBNET]);
                add(&["--bind-to", "none", "--host", &slots(full), "-np", &pes]);
                add(&["--map-by", if block { "slot" } else { "node" }]);
                for variable in variables {
                    add(&["-x", variable]);
                }
            }
            Self::SlurmPmi2 | Self::SlurmPmix => {
                let interface = if self == Self::SlurmPmi2 { "pmi2" } else { "pmix" };
                add(&["srun", &format!("--mpi={interface}"), "--overcommit"]);
                add(&["-w", &place.names().join(",")]);
                add(&["-N", &place.hosts.to_string(), "-n", &pes]);
                add(&["--ntasks-per-node", &full.to_string()]);
                add(&["-m", if block { "block" } else { "cyclic" }]);
            }
        }
        words.extend_from_slice(program);
        words
    }

    /// Variables that the launcher itself wants.
    pub fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::OpenMpi => &[("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")],
            Self::SlurmPmi2 | Self::SlurmPmix => &[("SLURM_CONF", super::slurm::CONFIGURATION)],
            Self::Hydra => &[],
        }
    }
}

impl fmt::Display for Launcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distribution = match self.distribution {
            _ if self.pes == self.hosts => "alone",
            Distribution::Block => "block",
            Distribution::RoundRobin => "round-robin",
        };
        write!(f, "{}pe-{}hosts-{distribution}", self.pes, self.hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pes_are_placed_as_the_launchers_are_told() {
        let place = |pes, hosts, distribution| Placement { pes, hosts, distribution }.hosts_of_pes();
        assert_eq!(place(4, 2, Distribution::Block), [0, 0, 1, 1]);
        assert_eq!(place(3, 2, Distribution::Block), [0, 0, 1]);
        assert_eq!(place(4, 2, Distribution::RoundRobin), [0, 1, 0, 1]);
        assert_eq!(place(4, 4, Distribution::Block), [0, 1, 2, 3]);
    }
}

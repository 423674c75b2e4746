//! `cargo xtask cluster`: tests in clusters of several hosts on this machine.

use crate::run::run;
use crate::{PREFIX_VARIABLE, install, workspace};
use anyhow::Result;
use clap::{Args, Subcommand};

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    cluster: Cluster,
}

#[derive(Subcommand)]
enum Cluster {
    /// Programs on hosts made of namespaces, started by Hydra, Open MPI and Slurm; faults
    Hosts {
        /// Every program in every placement by every launcher: about an hour
        #[arg(long)]
        full: bool,
        /// Only trials whose name contains this, as hydra, 4pe-2hosts-block or fault::amo
        filter: Option<String>,
    },
    /// Programs over verbs, in virtual machines with RDMA devices in software
    Machines {
        /// All programs at 2 to 4 PEs: some minutes
        #[arg(long)]
        full: bool,
        /// Only trials whose name contains this, as reduce, 4pe or fabric
        filter: Option<String>,
    },
}

/// Installs the library into `target/test-prefix` and runs the tests.
///
/// # Errors
/// If one fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    let prefix = workspace::target()?.join("test-prefix");
    install::into(&prefix, false)?;
    let (suite, tests, full, filter) = match &options.cluster {
        Cluster::Hosts { full, filter } => ("nodes", "hosts", full, filter),
        Cluster::Machines { full, filter } => ("machines", "machines", full, filter),
    };
    let mut command = workspace::cargo("test");
    command
        .args(["-p", "ferroshmem-conformance", "--test", suite])
        .args(["-p", "ferroshmem-cluster", "--test", tests])
        .args(["--no-fail-fast", "--"])
        .env(PREFIX_VARIABLE, &prefix);
    if *full {
        command.arg("--include-ignored");
    }
    command.args(filter);
    run(&mut command)
}

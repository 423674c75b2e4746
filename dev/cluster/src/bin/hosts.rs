//! Runs a command in the first of several hosts that are made for it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use ferroshmem_cluster::hosts::{Cluster, Slurm, applets, slurm};

/// Runs a command in the first of several hosts, made of namespaces, that are gone when it ends
///
/// In the hosts, named a, b, ..., `/run/cluster/bin/cluster-agent HOST COMMAND...` runs a command in
/// another one, as ssh does, and `/run/cluster/bin/cluster-fault HOST CHANGE` cuts a host's link
/// (down, up) or makes it slow and lossy (DELAY_MICROSECONDS,LOSS,BYTES_PER_SECOND; clear).
#[derive(Parser)]
#[command(name = "hosts")]
struct Options {
    /// Number of hosts, 1 to 4
    hosts: usize,
    /// Starts Slurm in them
    #[arg(long)]
    slurm: bool,
    /// The command, a shell if there is none
    #[arg(last = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    applets::dispatch();
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hosts: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<ExitCode> {
    let cluster = Cluster::new(options.hosts)?;
    let slurm = options.slurm.then(|| Slurm::start(&cluster)).transpose()?;
    let mut words = options.command.clone();
    if words.is_empty() {
        words.push("bash".to_owned());
    }
    let first = cluster.hosts().next().context("a cluster has hosts")?;
    let mut command = cluster.command(first, words);
    if slurm.is_some() {
        command = command.env("SLURM_CONF", slurm::CONFIGURATION);
    }
    let status = command.status()?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

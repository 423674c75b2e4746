//! The options that choose hosts and launcher.

use std::ffi::OsString;
use std::path::PathBuf;

use ferroshmem_bootstrap::environment;

use super::agent::Agent;
use super::allocation::Allocation;
use super::launch::{HostLaunch, HostSource, LauncherKind};
use super::list;
use crate::launch::failure::Failure;

/// Several hosts.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Other hosts")]
pub(in crate::launch) struct HostOptions {
    /// Runs the PEs on these hosts, at most so many on each (1 by default)
    #[arg(long, value_name = "HOST[:SLOTS],...", conflicts_with = "hostfile")]
    hosts: Option<String>,
    /// The same from a file with lines "HOST:SLOTS" or "HOST slots=SLOTS"; # begins a comment
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,
    /// Runs so many PEs on each host, whatever slots are given to it
    #[arg(long, value_name = "N", value_parser = crate::launch::values::count)]
    ppn: Option<usize>,
    /// By what PEs on other hosts are started; without it: srun inside an allocation of Slurm's,
    /// else the first that is installed
    #[arg(long, value_name = "WHICH", value_enum)]
    launcher: Option<LauncherKind>,
    /// One word that is passed to that launcher as it is
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    launcher_option: Vec<OsString>,
    /// The command by which that launcher reaches a host, instead of ssh
    #[arg(long, value_name = "COMMAND")]
    launch_agent: Option<String>,
    /// Has that launcher go on when a PE fails, for programs that call shmemx_resilient
    #[arg(long)]
    resilient: bool,
}

/// Where a job runs.
#[derive(Debug)]
pub(in crate::launch) enum Destination {
    /// On this host, with at most this many PEs if its slots were given.
    ThisHost(Option<usize>),
    /// On the hosts of this launch.
    Hosts(HostLaunch),
}

impl HostOptions {
    /// Where the job is to run, in an environment that may be that of an allocation.
    pub(in crate::launch) fn destination(self) -> Result<Destination, Failure> {
        let agent = match &self.launch_agent {
            None => Vec::new(),
            Some(text) => shlex::split(text)
                .filter(|words| !words.is_empty())
                .ok_or_else(|| Failure::usage(format!("--launch-agent \"{text}\" is no command")))?,
        };
        Agent::check(&agent)?;
        if self.launcher == Some(LauncherKind::Command) {
            let others = self.hosts.is_some() || self.hostfile.is_some() || self.ppn.is_some();
            if others || !self.launcher_option.is_empty() || !agent.is_empty() || self.resilient {
                return Err(Failure::usage(
                    "--launcher command: give the launcher its own options, in the command after those of oshrun",
                ));
            }
            let (source, kind) = (HostSource::Command, self.launcher);
            let (extra, resilient) = (Vec::new(), false);
            return Ok(Destination::Hosts(HostLaunch { ppn: None, source, kind, extra, agent, resilient }));
        }
        let is_forced = self.launcher.is_some() || !self.launcher_option.is_empty() || !agent.is_empty();
        let mut hosts = match (&self.hosts, &self.hostfile) {
            (Some(text), _) => Some(list::from_list(text)?),
            (None, Some(file)) => Some(list::from_file(file)?),
            (None, None) => None,
        };
        if let Some(ppn) = self.ppn {
            for host in hosts.iter_mut().flatten() {
                host.slots = ppn;
            }
        }
        let source = match hosts {
            Some(hosts) if !is_forced && hosts.iter().all(list::Host::is_this_host) => {
                return Ok(Destination::ThisHost(Some(list::slots(&hosts))));
            }
            Some(hosts) => HostSource::Hosts(hosts),
            None => match Allocation::around(environment::value) {
                Some(allocation) if is_forced || allocation.nodes > 1 => HostSource::Allocation(allocation),
                None if is_forced => {
                    return Err(Failure::usage(
                        "--launcher, --launcher-option and --launch-agent are for other hosts: name them by --hosts or \
                            --hostfile",
                    ));
                }
                _ => return Ok(Destination::ThisHost(self.ppn)),
            },
        };
        Ok(Destination::Hosts(HostLaunch {
            // Named hosts have it as their slots.
            ppn: self.ppn.filter(|_| matches!(source, HostSource::Allocation(_))),
            source,
            kind: self.launcher,
            extra: self.launcher_option,
            agent,
            resilient: self.resilient,
        }))
    }
}

//! The options that say on which hosts, and by what.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use super::allocation::Allocation;
use super::starter::Kind;
use super::{Across, Target, hosts};
use crate::launch::failure::Failure;

/// Several hosts.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Other hosts")]
pub(crate) struct Args {
    /// Runs the PEs on these hosts, at most so many on each (1 if it is not said)
    #[arg(long, value_name = "HOST[:SLOTS],...", conflicts_with = "hostfile")]
    hosts: Option<String>,
    /// The same from a file with lines "HOST:SLOTS" or "HOST slots=SLOTS"; # begins a comment
    #[arg(long, value_name = "FILE")]
    hostfile: Option<PathBuf>,
    /// By what PEs on other hosts are started; without it: srun inside an allocation of Slurm's,
    /// else the first that is installed
    #[arg(long, value_name = "WHICH", value_enum)]
    launcher: Option<Kind>,
    /// One word handed to that launcher as it is
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    launcher_option: Vec<OsString>,
    /// The command by which that launcher reaches a host, instead of ssh
    #[arg(long, value_name = "COMMAND")]
    launch_agent: Option<String>,
}

/// Where a job runs.
#[derive(Debug)]
pub(crate) enum Place {
    /// On this host, and if its slots were given, with at most so many PEs.
    Here(Option<usize>),
    Across(Across),
}

impl Args {
    /// What was asked for, in an environment that may be that of an allocation.
    pub(crate) fn place(self) -> Result<Place, Failure> {
        let agent = match &self.launch_agent {
            None => Vec::new(),
            Some(text) => shlex::split(text)
                .filter(|words| !words.is_empty())
                .ok_or_else(|| {
                    Failure::usage(format!("--launch-agent \"{text}\" is no command"))
                })?,
        };
        let handed_over =
            self.launcher.is_some() || !self.launcher_option.is_empty() || !agent.is_empty();
        let list = match (&self.hosts, &self.hostfile) {
            (Some(text), _) => Some(hosts::from_list(text)?),
            (None, Some(file)) => Some(hosts::from_file(file)?),
            (None, None) => None,
        };
        let target = match list {
            Some(list) if !handed_over && list.iter().all(hosts::Host::is_here) => {
                return Ok(Place::Here(Some(hosts::slots(&list))));
            }
            Some(list) => Target::Hosts(list),
            None => match Allocation::around(|name| env::var(name).ok()) {
                Some(allocation) if handed_over || allocation.nodes > 1 => {
                    Target::Allocation(allocation)
                }
                None if handed_over => {
                    return Err(Failure::usage(
                        "--launcher, --launcher-option and --launch-agent are for other hosts: name them by --hosts or --hostfile",
                    ));
                }
                _ => return Ok(Place::Here(None)),
            },
        };
        Ok(Place::Across(Across {
            target,
            kind: self.launcher,
            extra: self.launcher_option,
            agent,
        }))
    }
}

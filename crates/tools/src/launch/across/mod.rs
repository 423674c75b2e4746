//! Jobs on several hosts: `oshrun` hands over to a launcher that reaches them, by becoming it.
//! What it starts finds the others through that launcher's server.

mod allocation;
mod arguments;
mod hosts;
mod hydra;
mod openmpi;
mod slurm;
mod starter;

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use ferroshmem_core::config::{self, JOB};

use self::allocation::Allocation;
pub(super) use self::arguments::{Args, Place};
use self::hosts::Host;
pub(super) use self::hosts::check_room;
use self::starter::{Kind, Starter};
use super::failure::Failure;
use super::options::Options;
use super::output;

/// Seconds between asking a launcher to end after `--timeout` and killing it.
const GRACE: &str = "10";

/// Where the PEs of a job on several hosts go, and how they are started there.
#[derive(Debug)]
pub(super) struct Across {
    target: Target,
    /// The only launcher to use.
    kind: Option<Kind>,
    /// Options for it that `oshrun` does not know.
    extra: Vec<OsString>,
    /// The command by which it reaches a host, and its first arguments; `ssh` if empty.
    agent: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// These, with so many PEs at most each.
    Hosts(Vec<Host>),
    /// What Slurm gave, which every launcher finds out by itself.
    Allocation(Allocation),
}

impl Across {
    /// Number of PEs where the user gives none.
    pub(super) fn default_pes(&self) -> Option<usize> {
        match &self.target {
            Target::Hosts(hosts) => Some(hosts::slots(hosts)),
            Target::Allocation(allocation) => allocation.default_pes(),
        }
    }

    /// The hosts with their slots in the form that most launchers read: `a:4,b:4`.
    fn host_list(&self) -> Option<String> {
        match &self.target {
            Target::Hosts(hosts) => {
                let items: Vec<String> = hosts.iter().map(Host::to_string).collect();
                Some(items.join(","))
            }
            Target::Allocation(_) => None,
        }
    }
}

/// Becomes the launcher; returns only if there is none, or none that can do this job.
pub(super) fn hand_over(options: &Options, across: &Across) -> Result<Infallible, Failure> {
    let n_pes: usize = options.sections.iter().map(|s| s.n_pes).sum();
    if let Target::Hosts(hosts) = &across.target {
        check_room(hosts::slots(hosts), n_pes)?;
    }
    for section in &options.sections {
        if section.program.as_bytes().starts_with(b"-") {
            let name = section.program.to_string_lossy();
            return Err(Failure::usage(format!(
                "\"{name}\" would be taken for an option by other launchers: give it as a path"
            )));
        }
    }
    let starter = Starter::find(across)?;
    if let Some(dir) = &options.output {
        output::create(dir)?;
    }
    let line = match starter.kind {
        Kind::Slurm => slurm::command(options, across, &starter)?,
        Kind::Hydra => hydra::command(options, across, &starter)?,
        Kind::Openmpi | Kind::Prte => openmpi::command(options, across, &starter)?,
    };
    let line = within(options, line)?;
    if options.verbose || config::debug() {
        let place = across.host_list();
        let place = place.as_deref().unwrap_or("the hosts of this allocation");
        let words = line.iter().map(|w| w.to_string_lossy());
        let shown: Vec<String> = words.map(|w| quoted(&w)).collect();
        eprintln!(
            "oshrun: {n_pes} PEs on {place} by {}: {}",
            starter.name(),
            shown.join(" ")
        );
    }
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).env_remove(JOB.name);
    match starter.kind {
        // It hands its own environment on; the form for single variables cannot hold commas.
        Kind::Slurm => {
            let variables = options.sections.iter().flat_map(|s| &s.variables);
            command.envs(variables.map(|(name, value)| (name, value)));
        }
        Kind::Hydra if across.agent.len() > 1 => {
            command.env(hydra::AGENT_ARGUMENTS, across.agent[1..].join(" "));
        }
        _ => {}
    }
    let program = line[0].to_string_lossy().into_owned();
    let e = command.exec();
    Err(Failure::not_runnable(format!(
        "cannot run \"{program}\": {e}"
    )))
}

/// Under coreutils' `timeout`, which ends with the status that `oshrun` has for it.
fn within(options: &Options, line: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let Some(limit) = options.timeout else {
        return Ok(line);
    };
    let Some(timeout) = starter::in_path("timeout") else {
        return Err(Failure::usage(
            "--timeout on other hosts needs the program timeout (coreutils)",
        ));
    };
    let mut all = vec![timeout.into_os_string()];
    // In the foreground: the launcher may read from the terminal.
    all.extend(["--foreground", "-k", GRACE].map(OsString::from));
    all.push(limit.as_secs_f64().to_string().into());
    all.extend(line);
    Ok(all)
}

/// Names of variables that every PE is to have, set here by whatever means: the launchers that
/// do not hand the environment on are told these.
fn forwarded() -> Vec<OsString> {
    const PREFIXES: &[&str] = &["SHMEM_", "SMA_", "FI_"];
    let wanted = |name: &OsStr| {
        let is = |prefix: &&str| name.as_bytes().starts_with(prefix.as_bytes());
        PREFIXES.iter().any(is) || name == "LD_LIBRARY_PATH"
    };
    let mut names: Vec<OsString> = config::inherited_all().map(|(name, _)| name).collect();
    names.retain(|name| wanted(name));
    names.sort();
    names
}

/// An option that this launcher has nothing for.
fn refusal(option: &str, starter: &Starter, instead: &str) -> Failure {
    Failure::usage(format!(
        "{option} cannot be had from {}: {instead}",
        starter.name()
    ))
}

fn quoted(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}

//! Jobs on several hosts: `oshrun` becomes a launcher that reaches them. The processes that this
//! launcher starts reach each other through its server.

pub(super) mod agent;
mod allocation;
mod command;
mod hydra;
pub(super) mod launch;
mod launcher;
pub(super) mod list;
mod openmpi;
pub(super) mod options;
mod slurm;

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use ferroshmem_config::{self as config, JOB};
use nix::errno::Errno;

use self::agent::Agent;
use self::launch::{HostLaunch, HostSource, LauncherKind};
use self::launcher::HostLauncher;
use self::list::check_room;
use super::debugging::quoted;
use super::failure::{Failure, print_line};
use super::options::CommandLine;
use super::output;
use super::program::cannot_run;

/// Seconds between SIGTERM for a launcher after `--timeout`, and SIGKILL.
const GRACE: &str = "10";

/// Becomes the launcher; returns only if there is none, or none that can run this job.
pub(super) fn become_launcher(options: &CommandLine, launch: &HostLaunch) -> Result<Infallible, Failure> {
    let n_pes: usize = options.sections.iter().map(|s| s.n_pes).sum();
    if let HostSource::Hosts(hosts) = &launch.source {
        check_room(list::slots(hosts), n_pes)?;
    }
    for section in &options.sections {
        if section.command.as_bytes().starts_with(b"-") {
            let name = section.command.to_string_lossy();
            return Err(Failure::usage(format!(
                "\"{name}\" would be taken for an option by other launchers: give it as a path"
            )));
        }
    }
    let launcher = HostLauncher::find(launch)?;
    let agent = match launcher.kind {
        LauncherKind::Hydra => Agent::of(launch)?,
        _ => None,
    };
    if let Some(value) = &options.streams.output {
        match output::pattern(value)? {
            None => output::create(value)?,
            Some(_) if launcher.kind == LauncherKind::Slurm => {}
            Some(_) => return Err(launcher.refusal("--output with a pattern", "give --output DIR")),
        }
    }
    let line = match launcher.kind {
        LauncherKind::Slurm => slurm::command(options, launch, &launcher)?,
        LauncherKind::Hydra => hydra::command(options, launch, &launcher, agent.as_ref())?,
        LauncherKind::Openmpi | LauncherKind::Prte => openmpi::command(options, launch, &launcher)?,
        LauncherKind::Command => command::command(options)?,
    };
    let line = within(options, line)?;
    if options.streams.verbose || config::debug() {
        let place = launch.host_list();
        let place = place.as_deref().unwrap_or("hosts that the launcher knows");
        let words = line.iter().map(|w| w.to_string_lossy());
        let shown: Vec<String> = words.map(|w| quoted(&w)).collect();
        print_line(&format!("{n_pes} PEs on {place} by {}: {}", launcher.name(), shown.join(" ")));
    }
    let mut command = Command::new(&line[0]);
    command.args(&line[1..]).env_remove(JOB.name).envs(options.secrets.iter().cloned());
    match launcher.kind {
        // It forwards its own environment; its option for single variables cannot hold commas.
        LauncherKind::Slurm | LauncherKind::Command => {
            let variables = options.sections.iter().flat_map(|s| &s.environment);
            command.envs(variables.map(|(name, value)| (name, value)));
            if launcher.kind == LauncherKind::Command {
                command::hand_on(options, &mut command);
            }
        }
        _ => {
            if let Some(agent) = agent {
                command.env(hydra::AGENT_ARGUMENTS, agent.to_word());
            }
        }
    }
    let program = line[0].to_string_lossy().into_owned();
    Err(cannot_run(&program, Errno::try_from(command.exec()).unwrap_or(Errno::EIO)))
}

/// Under coreutils' `timeout`, which ends with the status that `oshrun` has for it.
fn within(options: &CommandLine, line: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let Some(limit) = options.times.timeout else {
        return Ok(line);
    };
    let Some(timeout) = launcher::in_path("timeout") else {
        return Err(Failure::usage("--timeout on other hosts needs the program timeout (coreutils)"));
    };
    let mut all = vec![timeout.into_os_string()];
    // In the foreground: the launcher may read from the terminal.
    all.extend(["--foreground", "-k", GRACE].map(OsString::from));
    all.push(limit.as_secs_f64().to_string().into());
    all.extend(line);
    Ok(all)
}

//! Hydra's `mpiexec`, which forwards environment and directory.

use std::env;
use std::ffi::OsString;

use super::agent::Agent;
use super::launch::HostLaunch;
use super::launcher::HostLauncher;
use crate::launch::failure::Failure;
use crate::launch::options::{Binding, CommandLine, Input, Mapping};

/// Arguments of the agent, by an environment variable: the option takes its name only.
pub(super) const AGENT_ARGUMENTS: &str = "HYDRA_LAUNCHER_EXTRA_ARGS";

/// The command line.
pub(super) fn command(
    options: &CommandLine,
    launch: &HostLaunch,
    launcher: &HostLauncher,
    agent: Option<&Agent>,
) -> Result<Vec<OsString>, Failure> {
    if options.placement.map_by != Mapping::Compact {
        return Err(launcher.refusal("--map-by", "pass its own -map-by by --launcher-option"));
    }
    if launch.resilient {
        let instead = "it ends a job in which a PE ends; start it in an allocation of Slurm's";
        return Err(launcher.refusal("--resilient", instead));
    }
    if options.placement.report_bindings {
        let instead = "set HYDRA_TOPO_DEBUG=1";
        return Err(launcher.refusal("--report-bindings", instead));
    }
    if options.streams.stdin != Input::Pe(0) {
        return Err(launcher.refusal("--stdin", "PE 0 reads it; or oshrun ... < /dev/null"));
    }
    let mut line: Vec<OsString> = vec![launcher.path.clone().into()];
    if agent.is_some() {
        let this = env::current_exe().map_err(|e| Failure::system(format!("cannot find the file of oshrun: {e}")))?;
        line.extend(["-launcher", "ssh", "-launcher-exec"].map(OsString::from));
        line.push(this.into());
    }
    if let Some(hosts) = launch.host_list() {
        line.extend(["-hosts".into(), hosts.into()]);
    }
    if let Some(ppn) = launch.ppn {
        line.extend(["-ppn".into(), ppn.to_string().into()]);
    }
    let binding = match options.placement.bind_to {
        Binding::Hwthread => Some("hwthread"),
        Binding::Core => Some("core"),
        Binding::L3cache => Some("l3cache"),
        Binding::Numa => Some("numa"),
        Binding::Socket => Some("socket"),
        Binding::Auto | Binding::None => None,
    };
    if let Some(cores) = options.placement.cores {
        line.extend(["-bind-to".into(), format!("core:{cores}").into()]);
    } else if let Some(binding) = binding {
        line.extend(["-bind-to", binding].map(OsString::from));
    }
    if options.streams.label {
        line.push("-prepend-rank".into());
    }
    if let Some(dir) = &options.streams.output {
        for (option, end) in [("-outfile-pattern", "out"), ("-errfile-pattern", "err")] {
            line.extend([option.into(), dir.join(format!("pe.%r.{end}")).into()]);
        }
    }
    line.extend(launch.extra.iter().cloned());
    for (i, section) in options.sections.iter().enumerate() {
        if i > 0 {
            line.push(":".into());
        }
        line.extend(["-n".into(), section.n_pes.to_string().into()]);
        for (name, value) in &section.environment {
            line.extend(["-env".into(), name.clone(), value.clone()]);
        }
        if let Some(dir) = &section.directory {
            line.extend(["-wdir".into(), dir.clone().into()]);
        }
        line.push(section.command.clone());
        line.extend(section.arguments.iter().cloned());
    }
    Ok(line)
}

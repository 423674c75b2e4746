//! Open MPI's `mpirun` and PRRTE's `prterun`, which forward only the variables that their options
//! name. Placement is given in full, since their defaults depend on version and number of PEs.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use ferroshmem_config as config;

use super::launch::HostLaunch;
use super::launcher::HostLauncher;
use crate::launch::failure::Failure;
use crate::launch::options::{Binding, CommandLine, Input, Mapping};

/// The command line.
pub(super) fn command(
    options: &CommandLine,
    launch: &HostLaunch,
    launcher: &HostLauncher,
) -> Result<Vec<OsString>, Failure> {
    if options.streams.output.is_some() {
        let instead = "it names files in a way of its own: --launcher-option, or --launcher hydra";
        return Err(launcher.refusal("--output", instead));
    }
    if options.placement.map_by != Mapping::Compact {
        return Err(launcher.refusal("--map-by", "pass its own by --launcher-option"));
    }
    let mut line: Vec<OsString> = vec![launcher.path.clone().into()];
    let words = |of_prte: &[&str], of_openmpi: &[&str]| {
        let words = if launcher.is_prte { of_prte } else { of_openmpi };
        Vec::from_iter(words.iter().map(OsString::from))
    };
    if launch.resilient {
        line.extend(words(&["--rtos", "recoverable"], &["--enable-recovery"]));
    }
    if !launch.agent.is_empty() {
        line.extend(words(&["--prtemca", "plm_ssh_agent"], &["--mca", "plm_rsh_agent"]));
        line.push(launch.agent.join(" ").into());
    }
    if let Some(hosts) = launch.host_list() {
        line.extend(["--host".into(), hosts.into()]);
    }
    let binding = match options.placement.bind_to {
        Binding::Hwthread => "hwthread:overload-allowed",
        Binding::Core => "core:overload-allowed",
        Binding::L3cache => "l3cache:overload-allowed",
        Binding::Numa => "numa:overload-allowed",
        Binding::Socket if launcher.is_prte => "package:overload-allowed",
        Binding::Socket => "socket:overload-allowed",
        Binding::Auto if options.placement.cores.is_some() => "core",
        Binding::Auto | Binding::None => "none",
    };
    let mut map_by = match launch.ppn {
        Some(ppn) => format!("ppr:{ppn}:node"),
        None => "slot".into(),
    };
    if let Some(cores) = options.placement.cores {
        map_by += &format!(":PE={cores}");
    }
    line.extend(["--map-by", &map_by, "--bind-to", binding].map(OsString::from));
    if options.streams.stdin != Input::Pe(0) {
        line.extend(["--stdin".into(), options.streams.stdin.to_string().into()]);
    }
    if options.placement.report_bindings {
        line.extend(words(&["--display", "bind"], &["--report-bindings"]));
    }
    if options.streams.label {
        line.extend(words(&["--output", "tag"], &["--tag-output"]));
    }
    line.extend(launch.extra.iter().cloned());
    let inherited = forwarded();
    for (i, section) in options.sections.iter().enumerate() {
        if i > 0 {
            line.push(":".into());
        }
        line.extend(["-n".into(), section.n_pes.to_string().into()]);
        let is_set_here = |name: &&OsString| section.environment.iter().all(|(n, _)| n != *name);
        let secrets = options.secrets.iter().map(|(name, _)| name);
        for name in inherited.iter().filter(is_set_here).chain(secrets) {
            line.extend(["-x".into(), name.clone()]);
        }
        for (name, value) in &section.environment {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            line.extend(["-x".into(), pair]);
        }
        if let Some(dir) = &section.directory {
            line.extend(["--wdir".into(), dir.clone().into()]);
        }
        line.push(section.command.clone());
        line.extend(section.arguments.iter().cloned());
    }
    Ok(line)
}

/// Names of variables that every PE is to have: launchers that do not forward the environment get
/// them as options.
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

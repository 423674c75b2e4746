//! Slurm's `srun`, which forwards environment and directory, and knows the hosts.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use super::launch::HostLaunch;
use super::launcher::HostLauncher;
use crate::launch::failure::Failure;
use crate::launch::options::{Binding, CommandLine, Mapping};
use crate::launch::output;

/// The command line.
pub(super) fn command(
    options: &CommandLine,
    launch: &HostLaunch,
    launcher: &HostLauncher,
) -> Result<Vec<OsString>, Failure> {
    let [section] = &options.sections[..] else {
        let instead = "it starts one program: --launcher hydra, or srun --multi-prog";
        return Err(launcher.refusal("':' between programs", instead));
    };
    if !launch.agent.is_empty() {
        let instead = "it reaches its nodes by its own daemons";
        return Err(launcher.refusal("--launch-agent", instead));
    }
    if options.placement.map_by != Mapping::Compact {
        let instead = "pass its own --distribution by --launcher-option";
        return Err(launcher.refusal("--map-by", instead));
    }
    let mut line: Vec<OsString> = vec![launcher.path.clone().into()];
    line.push(format!("--mpi={}", protocol(&launcher.path, launch.resilient)?).into());
    line.push(format!("--ntasks={}", section.n_pes).into());
    // As oshrun does on one host: a PE that ends badly ends the job, PE 0 has the input.
    line.push(format!("--kill-on-bad-exit={}", u8::from(!launch.resilient)).into());
    if launch.resilient {
        line.push("--no-kill".into());
    }
    line.push(format!("--input={}", options.streams.stdin).into());
    if let Some(cores) = options.placement.cores {
        line.push(format!("--cpus-per-task={cores}").into());
    }
    if let Some(ppn) = launch.ppn {
        line.push(format!("--ntasks-per-node={ppn}").into());
    }
    // Otherwise as the cluster is set up: sites bind tasks to what they allocated.
    let binding = match options.placement.bind_to {
        Binding::Hwthread => Some("threads"),
        Binding::Core => Some("cores"),
        Binding::L3cache => {
            let instead = "give core, numa or socket";
            return Err(launcher.refusal("--bind-to l3cache", instead));
        }
        Binding::Numa => Some("ldoms"),
        Binding::Socket => Some("sockets"),
        Binding::Auto if options.placement.cores.is_some() => Some("cores"),
        Binding::Auto | Binding::None => None,
    };
    let report = options.placement.report_bindings.then_some("verbose");
    let words: Vec<&str> = report.into_iter().chain(binding).collect();
    if !words.is_empty() {
        line.push(format!("--cpu-bind={}", words.join(",")).into());
    }
    if options.streams.label {
        line.push("--label".into());
    }
    if let Some(value) = &options.streams.output
        && let Some(pattern) = output::pattern(value)?
    {
        line.push(format!("--output={pattern}").into());
    } else if let Some(dir) = &options.streams.output {
        let digits = (section.n_pes - 1).to_string().len();
        for (option, end) in [("--output=", "out"), ("--error=", "err")] {
            let mut word = OsString::from(option);
            word.push(dir.join(format!("pe.%{digits}t.{end}")));
            line.push(word);
        }
    }
    if let Some(dir) = &section.directory {
        line.extend(["--chdir".into(), dir.clone().into()]);
    }
    line.extend(launch.extra.iter().cloned());
    line.push(section.command.clone());
    line.extend(section.arguments.iter().cloned());
    Ok(line)
}

/// The protocol that this Slurm offers its tasks to find each other. One that goes on when a task ends is PMI-2.
fn protocol(srun: &Path, resilient: bool) -> Result<&'static str, Failure> {
    let output = Command::new(srun).arg("--mpi=list").stdin(Stdio::null()).output();
    // Versions differ in which of the two they print to.
    let text = output.map(|o| [o.stdout, o.stderr].concat());
    let text = text.unwrap_or_default();
    let protocols: &[_] = if resilient { &["pmi2"] } else { &["pmix", "pmi2"] };
    offered(&String::from_utf8_lossy(&text), protocols).ok_or_else(|| {
        Failure::usage(if resilient {
            "--resilient: srun does not offer PMI-2 (srun --mpi=list); by PMIx, it ends a job in which a PE ends"
        } else {
            "srun offers neither PMIx nor PMI-2 (srun --mpi=list), by which PEs find each other: install Slurm's \
                plugin for one of them, or use --launcher hydra"
        })
    })
}

fn offered(list: &str, protocols: &[&'static str]) -> Option<&'static str> {
    let has = |name: &str| list.split_whitespace().any(|word| word == name);
    protocols.iter().copied().find(|name| has(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmix_before_pmi_2() {
        let list = "MPI plugin types are...\n\tpmix\n\tpmi2\n\tcray_shasta\n\tnone\n";
        let both = ["pmix", "pmi2"];
        assert_eq!(offered(list, &both), Some("pmix"));
        assert_eq!(offered(list, &["pmi2"]), Some("pmi2"));
        assert_eq!(offered("srun: MPI types are...\nsrun: pmi2\nsrun: none", &both), Some("pmi2"));
        assert_eq!(offered("none\npmix_v4x\n", &both), None);
    }
}

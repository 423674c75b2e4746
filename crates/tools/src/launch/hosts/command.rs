//! A launcher that the user calls, by a command of its own: `oshrun` adds to the environment alone.

use std::ffi::OsString;
use std::process::Command;

use ferroshmem_config::inherited;

use crate::launch::failure::Failure;
use crate::launch::options::CommandLine;

/// By which Open MPI's `mpirun` is told to hand variables on, which it does not do by itself.
const OPENMPI_LIST: &str = "OMPI_MCA_mca_base_env_list";

/// The command line.
pub(super) fn command(options: &CommandLine) -> Result<Vec<OsString>, Failure> {
    let [section] = &options.sections[..] else {
        return Err(Failure::usage("--launcher command: ':' between programs is the launcher's own: give one command"));
    };
    let words = std::iter::once(&section.command).chain(&section.arguments);
    Ok(words.cloned().collect())
}

/// Has the launcher hand the PEs their variables.
pub(super) fn hand_on(options: &CommandLine, command: &mut Command) {
    let mut list = inherited(OPENMPI_LIST.as_ref()).unwrap_or_default();
    for (name, _) in options.sections.iter().flat_map(|s| &s.environment).chain(&options.secrets) {
        if !list.is_empty() {
            list.push(";");
        }
        list.push(name);
    }
    if !list.is_empty() {
        command.env(OPENMPI_LIST, list);
    }
}

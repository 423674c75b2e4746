//! `cargo xtask fuzz`: random sequences of all routines, compared with a sequential model.

use crate::run::run;
use crate::{PREFIX_VARIABLE, install, workspace};
use anyhow::Result;
use clap::Args;

/// Options of the task.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// Options of the fuzzer; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Installs the library into `target/test-prefix`, unless an installation is named, and runs the fuzzer.
///
/// # Errors
/// If a sequence fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    let target = workspace::target()?;
    let mut command = workspace::cargo("run");
    command
        .args(["--quiet", "-p", "ferroshmem-conformance", "--bin", "fuzz", "--"])
        .args(&options.options)
        .arg("--folder")
        .arg(target.join("fuzz"));
    let asks = options.options.iter().any(|o| o == "--help" || o == "-h");
    if !asks && std::env::var_os(PREFIX_VARIABLE).is_none() {
        let prefix = target.join("test-prefix");
        install::into(&prefix, false)?;
        command.env(PREFIX_VARIABLE, &prefix);
    }
    run(&mut command)
}

//! `cargo xtask report`: measures the library beside others, and shows the results on a page.

use crate::{install, run, workspace};
use anyhow::Result;
use clap::Args;
use std::ffi::OsString;
use std::process::ExitCode;

/// Options of the task.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// Options of pgas-microbench; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    options: Vec<OsString>,
}

/// Installs into `target/ferroshmem` and runs `pgas-microbench` with that; returns its status.
///
/// # Errors
/// If something cannot be built or started.
pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let prefix = workspace::target()?.join("ferroshmem");
    install::into(&prefix, false)?;
    let mut report = workspace::cargo("run");
    report
        .args(["--quiet", "--release", "--package", "pgas-microbench", "--"])
        .args(&options.options)
        .env(crate::PREFIX_VARIABLE, &prefix);
    // It has said what is wrong, if anything is.
    let code = run::status(&mut report)?.code().unwrap_or(1);
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

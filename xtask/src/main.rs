//! `cargo xtask`: builds, installs, demonstrates and tests FerroSHMEM.

mod demo;
mod files;
mod install;
mod package;
mod run;
mod suite;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Builds, installs, demonstrates and tests FerroSHMEM
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Options {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Installs the library, its header and its commands under a prefix; the result can be moved
    Install(install::Options),
    /// Compiles and runs an integer sort, with an installation of its own in target/
    Demo(demo::Options),
    /// Runs all checks and tests that the tools on this machine allow
    Test(suite::Options),
}

fn main() -> ExitCode {
    match perform(Options::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<()> {
    match task {
        Task::Install(options) => install::main(&options),
        Task::Demo(options) => demo::main(&options),
        Task::Test(options) => suite::main(&options),
    }
}

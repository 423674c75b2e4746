//! `cargo xtask`: builds, installs, demonstrates, tests and measures FerroSHMEM.

mod book;
mod cluster;
mod debian;
mod demo;
mod dist;
mod files;
mod fuzz;
mod install;
mod link;
mod package;
mod release;
mod report;
mod run;
mod target;
mod test;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::env;
use std::process::ExitCode;

/// Builds, installs, demonstrates, tests and measures FerroSHMEM
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
    /// Links the shared library from the static one, as `install` does
    #[command(hide = true)]
    Link(link::Options),
    /// Makes a Debian source package and the packages that it builds
    Debian(debian::Options),
    /// Makes the files of a release: binaries, sources, SBOM, checksums
    Dist(dist::Options),
    /// Releases a version: changelog, versions, commit, tag, and the files
    Release(release::Options),
    /// Compiles and runs an integer sort, with an installation of its own in target/
    Demo(demo::Options),
    /// Builds the book of docs/ and the reference of the routines, as HTML, by mdBook
    Book(book::Options),
    /// Runs all checks and tests that the tools on this machine allow
    Test(test::Options),
    /// Measures the library beside every other OpenSHMEM and MPI found, and writes a page of plots
    Report(report::Options),
    /// Runs jobs on several hosts, which it makes on this machine
    Cluster(cluster::Options),
    /// Runs random sequences of all routines and compares each with a sequential model
    Fuzz(fuzz::Options),
}

/// Environment variable that names the installation for tests and benchmarks.
const PREFIX_VARIABLE: &str = "FERROSHMEM_PREFIX";

/// What cargo keeps to compile a crate again is a seventh of the time of a first build. The tests that call cargo
/// inherit the setting: with another one, it would compile all crates again.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

fn main() -> ExitCode {
    let task = Options::parse().task;
    if matches!(task, Task::Demo(_) | Task::Test(_)) && env::var_os(INCREMENTAL).is_none() {
        // SAFETY: no other thread has begun.
        unsafe { env::set_var(INCREMENTAL, "0") };
    }
    match perform(task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task) -> Result<ExitCode> {
    match task {
        Task::Install(options) => install::main(&options)?,
        Task::Link(options) => link::main(&options)?,
        Task::Book(options) => book::main(&options)?,
        Task::Debian(options) => debian::main(&options)?,
        Task::Dist(options) => dist::main(&options)?,
        Task::Release(options) => release::main(&options)?,
        Task::Demo(options) => demo::main(&options)?,
        Task::Test(options) => test::main(&options)?,
        Task::Cluster(options) => cluster::main(&options)?,
        Task::Fuzz(options) => fuzz::main(&options)?,
        Task::Report(options) => return report::main(&options),
    }
    Ok(ExitCode::SUCCESS)
}

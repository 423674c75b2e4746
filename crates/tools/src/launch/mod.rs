//! `oshrun`: starts the PEs of a job on this node, watches them, and ends with them; or becomes a
//! launcher that starts them on several hosts (`hosts`).
//!
//! ```text
//! oshrun (launcher)      reads the command line, passes signals on
//!   └─ supervisor        makes the job's memory, starts PEs, watches them, labels output
//!        ├─ PE 0         killed by the kernel if the supervisor dies
//!        ├─ PE 1
//!        └─ …
//! ```

mod activity;
mod adopted;
mod adoption;
mod apart;
mod binding;
mod check;
mod check_options;
mod compatibility;
mod completions;
mod connected;
mod core_file;
mod deadlock;
mod debugging;
mod descendants;
mod exit_class;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod hang;
mod help;
mod hosts;
mod initialization;
mod job;
mod launcher;
mod linkage;
mod look;
mod meeting;
mod options;
mod output;
mod pages;
mod peers;
mod place;
mod placement;
mod profiling;
mod program;
mod report;
mod running;
mod shutdown;
mod signals;
mod spawn;
mod status;
mod status_options;
mod supervisor;
mod time_slices;
mod values;
mod variables;
mod waits;
mod words;

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use ferroshmem_config as config;
use ferroshmem_platform::Machine;

use self::failure::Failure;

/// Runs `oshrun` with these arguments (without its own name).
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(run(arguments).unwrap_or_else(|failure| failure.report()))
}

fn run(arguments: Vec<OsString>) -> Result<u8, Failure> {
    signals::restore_faults();
    if let Some(status) = hosts::agent::run(&arguments) {
        return Ok(status);
    }
    if let Some(result) = adoption::run(&arguments)
        .or_else(|| look::run(&arguments))
        .or_else(|| look::run_status(&arguments))
        .or_else(|| place::run(&arguments))
    {
        return result;
    }
    let machine = Machine::here();
    let mut options = match options::read(arguments, machine.cores)? {
        options::Request::Job(options) => *options,
        options::Request::SavedRecords(kept) => return kept.write(),
    };
    let given = options.sections.iter().flat_map(|s| &s.environment);
    let is_given = |name: &OsStr| given.clone().any(|(n, _)| n == name);
    let is_set = |name: &OsStr| config::inherited(name).is_some() || is_given(name);
    for line in variables::of_others(is_set) {
        failure::print_line(&line);
    }
    if let Some(checks) = options.checks.take() {
        let session = check::Session::begin(&checks, &mut options)?;
        options.checks = Some(checks);
        return session.run(|| profiled(options, machine));
    }
    profiled(options, machine)
}

/// Runs the job, and writes what is asked for of its profile.
fn profiled(mut options: options::CommandLine, machine: Machine) -> Result<u8, Failure> {
    let Some(profiling) = options.profiling.take() else {
        return start(options, machine);
    };
    let session = profiling::Session::begin(profiling, &mut options)?;
    let result = match &options.hosts {
        // The process becomes a launcher.
        Some(_) => apart::apart(|| start(options, machine), || Ok(())),
        None => start(options, machine),
    };
    session.finish(result.is_ok());
    result
}

fn start(mut options: options::CommandLine, machine: Machine) -> Result<u8, Failure> {
    options.translate();
    if let Some(launch) = &options.hosts {
        match hosts::become_launcher(&options, launch)? {}
    }
    launcher::run(job::Job::new(options, machine, &binding::Load::new())?)
}

//! `machines`: virtual machines with an RDMA device in software, and commands run in them.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use ferroshmem_cluster::machines::{Job, Machines, Outcome, Setup, guest};

/// Boots virtual machines with RDMA devices in software and runs commands in them
#[derive(Parser)]
#[command(name = "machines")]
struct Options {
    /// Number of machines
    #[arg(long, default_value_t = 2, value_name = "N")]
    machines: usize,

    /// Folder to keep the kernel in; default: machines/ in cargo's target folder, if this program is there
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,

    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Runs a command as PEs of a job, with PMI-1 to find each other
    Run {
        /// Number of PEs, in blocks on the machines; default: one on each
        #[arg(short, value_name = "PES")]
        n: Option<usize>,

        /// Sets a variable; others are not inherited
        #[arg(short = 'x', value_name = "NAME=VALUE")]
        variables: Vec<String>,

        /// Ends the job when it takes longer
        #[arg(long, default_value_t = 60, value_name = "SECONDS")]
        timeout: u64,

        /// Program, by PATH or as the path that it has here, and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|first| first == guest::ARGUMENT) {
        return guest::main();
    }
    match perform(Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("machines: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether everything ended well.
fn perform(options: Options) -> Result<bool> {
    let mut setup = match options.cache {
        Some(cache) => Setup::new(cache)?,
        None => Setup::in_target().context("say --cache DIR")?,
    };
    setup.machines = options.machines;
    match options.task {
        Task::Run { n, variables, timeout, command } => {
            let n = n.unwrap_or(setup.machines);
            ensure!(n > 0, "a job has at least one PE");
            let mut job = Job::same(n, setup.machines, &command);
            job.timeout = Duration::from_secs(timeout);
            for variable in &variables {
                let (name, value) =
                    variable.split_once('=').with_context(|| format!("-x {variable}: not NAME=VALUE"))?;
                job.env(name, value);
            }
            let mut machines = Machines::boot(&setup)?;
            let outcome = machines.run(&job)?;
            show(&outcome, machines.boot_time);
            Ok(outcome.success())
        }
    }
}

fn show(outcome: &Outcome, boot_time: Duration) {
    print!("{outcome}");
    eprintln!("machines: booted in {:.1} s, ran for {:.1} s", boot_time.as_secs_f32(), outcome.time.as_secs_f32());
}

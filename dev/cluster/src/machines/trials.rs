//! Test programs whose trials boot machines.

use std::env;
use std::process::ExitCode;

use anyhow::Result;
use libtest_mimic::{Arguments, Trial};

use super::{Setup, guest};

/// The `main` of such a program: runs the trials, or in a machine its agent.
pub fn run_trials(trials: impl FnOnce() -> Result<Vec<Trial>>) -> ExitCode {
    if env::args().nth(1).as_deref() == Some(guest::ARGUMENT) {
        return guest::main();
    }
    let mut arguments = Arguments::from_args();
    if !arguments.list
        && let Err(error) = Setup::in_target().and_then(|setup| setup.prepare())
    {
        println!("skipped: {error:#}");
        return ExitCode::SUCCESS;
    }
    // In this thread, with which the machines end.
    arguments.test_threads = Some(1);
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

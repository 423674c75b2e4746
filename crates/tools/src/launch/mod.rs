//! `oshrun`: starts the PEs of a job on this node, watches them, and ends with them; or hands
//! over to a launcher that starts them on several hosts ([`across`]).
//!
//! ```text
//! oshrun (launcher)      reads the command line, passes signals on
//!   └─ keeper            makes the job's memory, starts PEs, watches them, labels output
//!        ├─ PE 0         killed by the kernel if the keeper dies
//!        ├─ PE 1
//!        └─ …
//! ```

mod across;
mod descendants;
mod ending;
mod failure;
mod job;
mod keeper;
mod launcher;
mod options;
mod output;
mod program;
mod signals;
mod spawn;
mod stall;
mod verdict;
mod waits;

use std::ffi::OsString;
use std::process::ExitCode;

use ferroshmem_core::platform::Machine;

use self::failure::Failure;

/// Runs `oshrun` with these arguments (without its own name).
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    ExitCode::from(run(arguments).unwrap_or_else(|failure| failure.tell()))
}

fn run(arguments: Vec<OsString>) -> Result<u8, Failure> {
    let machine = Machine::here();
    let options = options::parse(arguments, machine.cores)?;
    if let Some(across) = &options.across {
        match across::hand_over(&options, across)? {}
    }
    launcher::run(job::Job::new(options, machine)?)
}

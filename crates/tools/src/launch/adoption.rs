//! `oshrun` started by a program that no launcher has started, to start PEs for it.

use std::ffi::OsString;
use std::process::exit;

use ferroshmem_core::job::adoption::ARGUMENT;
use ferroshmem_platform::Machine;
use nix::unistd::{ForkResult, fork};

use super::adopted::Adopted;
use super::binding::Load;
use super::failure::Failure;
use super::job::Job;
use super::options;
use super::signals::Signals;
use super::supervisor;

/// Leaves a supervisor of the program behind, if `arguments` ask for that.
pub(super) fn run(arguments: &[OsString]) -> Option<Result<u8, Failure>> {
    let [first, program] = arguments else {
        return None;
    };
    let numbers = first.to_str()?.strip_prefix(ARGUMENT)?;
    Some(supervise(numbers, program.clone()))
}

fn supervise(numbers: &str, program: OsString) -> Result<u8, Failure> {
    let adopted = Adopted::parse(numbers)?;
    let machine = Machine::here();
    let arguments = ["-n".into(), "1".into(), program];
    let options = options::parse(arguments.into(), machine.cores)?;
    let job = Job::new(options, machine, &Load::new())?;
    let signals = Signals::take().map_err(|e| Failure::system(format!("cannot prepare for signals: {e}")))?;
    // SAFETY: this process has one thread.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => exit(supervisor::adopt(job, signals, adopted).into()),
        Ok(ForkResult::Parent { .. }) => Ok(0),
        Err(e) => Err(Failure::system(format!("cannot start a process: {}", e.desc()))),
    }
}

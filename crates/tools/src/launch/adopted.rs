//! A program that no launcher has started, and that has started this `oshrun` to start PEs: it is watched as if it were
//! this one's PE.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::process::exit;

use ferroshmem_core::job::adoption::ARGUMENT;
use ferroshmem_core::job::control::Control;
use ferroshmem_platform::Machine;
use nix::unistd::{ForkResult, Pid, fork};

use super::binding::Load;
use super::failure::Failure;
use super::job::Job;
use super::options;
use super::signals::Signals;
use super::supervisor;

/// The program, a job of one PE.
pub(super) struct Adopted {
    /// Its memory.
    pub memory: File,
    /// The control part of its memory.
    pub control: Control,
    /// The end of its service.
    pub service: OwnedFd,
    /// Its process: readable once that has ended.
    pub process: OwnedFd,
    /// The number of its process.
    pub pid: Pid,
}

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

impl Adopted {
    fn parse(numbers: &str) -> Result<Self, Failure> {
        let wrong = || Failure::usage(format!("{ARGUMENT}{numbers} is for the library alone"));
        let numbers: Option<Vec<i32>> = numbers.split(',').map(|n| n.parse().ok()).collect();
        let Some([memory, service, process, pid]) = numbers.as_deref() else {
            return Err(wrong());
        };
        let owned = |fd: RawFd| {
            // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
            let is_open = fd > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(fd) }).is_ok();
            // SAFETY: open, and inherited for this object.
            is_open.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
        };
        let memory = File::from(owned(*memory).ok_or_else(wrong)?);
        let control =
            Control::open(&memory).map_err(|e| Failure::system(format!("cannot use the job's memory: {e}")))?;
        Ok(Self {
            memory,
            control,
            service: owned(*service).ok_or_else(wrong)?,
            process: owned(*process).ok_or_else(wrong)?,
            pid: Pid::from_raw(*pid),
        })
    }
}

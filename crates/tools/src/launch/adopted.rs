//! A program that no launcher has started, which this `oshrun` watches as if it were its PE.

use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};

use ferroshmem_core::job::adoption::ARGUMENT;
use ferroshmem_core::job::control::Control;
use nix::unistd::Pid;

use super::failure::Failure;

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

impl Adopted {
    pub(super) fn parse(numbers: &str) -> Result<Self, Failure> {
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

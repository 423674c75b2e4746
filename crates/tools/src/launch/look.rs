//! What the PEs of a node do, for a PE of it: where other launchers have started the job, no `oshrun` watches it.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::Ordering::Acquire;

use ferroshmem_core::job::adoption::LOOK;
use ferroshmem_core::job::control::Control;
use ferroshmem_core::platform::number_list;
use nix::unistd::Pid;

use super::failure::{Failure, say};
use super::report::{NodePes, Report};

/// Prints what the PEs do, if `arguments` ask for that.
pub(super) fn run(arguments: &[OsString]) -> Option<Result<u8, Failure>> {
    let [only] = arguments else {
        return None;
    };
    let words = only.to_str()?.strip_prefix(LOOK)?;
    Some(print(words))
}

fn print(words: &str) -> Result<u8, Failure> {
    let wrong = || Failure::usage(format!("{LOOK}{words} is for the library alone"));
    let (memory, pes) = words.split_once(':').ok_or_else(wrong)?;
    let memory: i32 = memory.parse().map_err(|_| wrong())?;
    // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
    let is_open =
        memory > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(memory) }).is_ok();
    if !is_open {
        return Err(wrong());
    }
    // SAFETY: open, and inherited for this object.
    let memory = unsafe { File::from_raw_fd(memory) };
    let control = Control::open(&memory)
        .map_err(|e| Failure::system(format!("cannot use the job's memory: {e}")))?;
    let numbers = number_list::numbers(pes);
    if numbers.len() != control.n_pes() {
        return Err(wrong());
    }
    let processes = (0..numbers.len()).map(|index| {
        let pid = control.pe_block(index).pid.load(Acquire);
        (index, Pid::from_raw(pid as i32))
    });
    let living: Vec<_> = processes
        .filter(|(_, pid)| pid.as_raw() > 0 && Path::new(&format!("/proc/{pid}")).exists())
        .collect();
    let report = Report::new(&NodePes::of_node(&control, numbers), &living);
    if report.waits_for_user() {
        return Ok(0);
    }
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    for line in report.lines() {
        say(&format!("{host}: {line}"));
    }
    Ok(0)
}

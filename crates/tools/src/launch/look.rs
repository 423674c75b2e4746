//! What the PEs of a node do and count, for a PE of it: where other launchers have started the job, no `oshrun` watches
//! it.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{BorrowedFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::Ordering::Acquire;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ferroshmem_core::job::adoption::{LOOK, STATUS};
use ferroshmem_core::job::control::Control;
use ferroshmem_platform::number_list;
use nix::unistd::{Pid, getppid};

use super::failure::{Failure, print_line};
use super::report::{NodePes, Report};
use super::status::Status;
use super::status_options::StatusPlan;

/// Prints what the PEs do, if `arguments` ask for that.
pub(super) fn run(arguments: &[OsString]) -> Option<Result<u8, Failure>> {
    let [only] = arguments else {
        return None;
    };
    let words = only.to_str()?.strip_prefix(LOOK)?;
    Some(print(words))
}

/// Shows again and again what the PEs count, if `arguments` ask for that, as long as the process that has started this
/// one.
pub(super) fn run_status(arguments: &[OsString]) -> Option<Result<u8, Failure>> {
    let [only] = arguments else {
        return None;
    };
    let words = only.to_str()?.strip_prefix(STATUS)?;
    Some(show_status(words))
}

fn show_status(words: &str) -> Result<u8, Failure> {
    let wrong = || Failure::usage(format!("{STATUS}{words} is for the library alone"));
    let (memory, seconds) = words.split_once(':').ok_or_else(wrong)?;
    let seconds = seconds.parse().ok().filter(|s| *s > 0).ok_or_else(wrong)?;
    let control = memory_of(memory).ok_or_else(wrong)??;
    let parent = getppid();
    let plan = StatusPlan { period: Some(Duration::from_secs(seconds)), ..StatusPlan::default() };
    let mut status = Status::new(plan)?;
    while let Some(next) = status.next_deadline() {
        sleep(next.saturating_duration_since(Instant::now()));
        if getppid() != parent {
            break;
        }
        for (_, line) in status.act(Instant::now(), &[(0, &control)]) {
            print_line(&line);
        }
    }
    Ok(0)
}

/// The job's memory behind this descriptor; None if it names none that is open.
fn memory_of(descriptor: &str) -> Option<Result<Control, Failure>> {
    let memory: i32 = descriptor.parse().ok()?;
    // SAFETY: borrowed for this one call, which fails if no such descriptor is open.
    let is_open = memory > 2 && rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(memory) }).is_ok();
    if !is_open {
        return None;
    }
    // SAFETY: open, and inherited for this object.
    let memory = unsafe { File::from_raw_fd(memory) };
    Some(Control::open(&memory).map_err(|e| Failure::system(format!("cannot use the job's memory: {e}"))))
}

fn print(words: &str) -> Result<u8, Failure> {
    let wrong = || Failure::usage(format!("{LOOK}{words} is for the library alone"));
    let (memory, pes) = words.split_once(':').ok_or_else(wrong)?;
    let control = memory_of(memory).ok_or_else(wrong)??;
    let numbers = number_list::numbers(pes);
    if numbers.len() != control.n_pes() {
        return Err(wrong());
    }
    let processes = (0..numbers.len()).map(|index| {
        let pid = control.pe_block(index).pid.load(Acquire);
        (index, Pid::from_raw(pid as i32))
    });
    let living: Vec<_> =
        processes.filter(|(_, pid)| pid.as_raw() > 0 && Path::new(&format!("/proc/{pid}")).exists()).collect();
    let report = Report::new(&NodePes::of_node(&control, numbers), &living);
    if report.waits_for_user() {
        return Ok(0);
    }
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    for line in report.lines() {
        print_line(&format!("{host}: {line}"));
    }
    Ok(0)
}

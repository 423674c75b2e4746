//! The launcher: the process that the user started. It forks the supervisor, which starts and watches
//! the PEs, and passes signals on to it.
//!
//! Two processes, because each ends the job if the other is killed: the kernel signals the supervisor
//! when the launcher dies, and the launcher inherits the processes that a killed supervisor leaves
//! behind (the kernel kills the PEs themselves with their parent).

use std::io;
use std::process::exit;

use nix::sys::prctl;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::unistd::{ForkResult, Pid, fork, getpid};

use super::descendants::{Reaped, end_all, reap};
use super::failure::{Failure, print_line};
use super::job::Job;
use super::signals::{self, Signals};
use super::supervisor;

/// Runs the job; the exit status of `oshrun`.
pub(super) fn run(job: Job) -> Result<u8, Failure> {
    let failed = |what: &str| {
        let what = what.to_owned();
        move |e: io::Error| Failure::system(format!("{what}: {e}"))
    };
    let signals = Signals::take().map_err(failed("cannot prepare for signals"))?;
    let launcher = getpid();
    prctl::set_child_subreaper(true).map_err(|e| failed("cannot become a subreaper")(e.into()))?;
    // SAFETY: this process has one thread.
    let supervisor = match unsafe { fork() } {
        Ok(ForkResult::Child) => exit(supervisor::run(job, signals, launcher).into()),
        Ok(ForkResult::Parent { child }) => child,
        Err(e) => return Err(failed("cannot start a process")(e.into())),
    };
    drop(job);
    let incoming = SignalFd::with_flags(&signals.taken, SfdFlags::SFD_CLOEXEC)
        .map_err(|e| failed("cannot read signals")(e.into()))?;
    loop {
        if let Ok(Some(info)) = incoming.read_signal() {
            match signals::signal_of(&info) {
                Some(Signal::SIGCHLD) => {
                    if let Some(status) = supervisor_status(supervisor) {
                        return Ok(status);
                    }
                }
                Some(signal) => pass_on(signal, &info, supervisor),
                None => {}
            }
        }
    }
}

fn pass_on(signal: Signal, info: &siginfo, supervisor: Pid) {
    if signal != signals::LAUNCHER_GONE && !signals::is_for_all(signal, info.ssi_code) {
        let _ = kill(supervisor, signal);
    }
    if signal == Signal::SIGTSTP {
        let _ = raise(Signal::SIGSTOP);
    }
}

/// The status that the supervisor ended with, if it has.
fn supervisor_status(supervisor: Pid) -> Option<u8> {
    loop {
        match reap() {
            Reaped::Child(pid, status) if pid == supervisor => {
                return Some(match status.code() {
                    Some(code) => code as u8,
                    None => {
                        let number = std::os::unix::process::ExitStatusExt::signal(&status);
                        orphaned(number.unwrap_or(libc::SIGKILL))
                    }
                });
            }
            Reaped::Child(..) => {}
            Reaped::NoneYet | Reaped::NoneLeft => return None,
        }
    }
}

/// The supervisor was killed by `signal`: its children are the launcher's now.
fn orphaned(signal: i32) -> u8 {
    end_all(None);
    print_line(&format!("the supervisor of the PEs was killed by {}; ended the job", signals::name(signal)));
    128 + signal as u8
}

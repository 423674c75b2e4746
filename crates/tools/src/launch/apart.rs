//! A job in a process of its own, which may become a launcher, while this one waits for its end.

use std::io;
use std::process::exit;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, kill, sigaction};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use super::failure::Failure;
use super::signals;

/// Signals that are passed on.
const PASSED: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];

/// Runs `body` in a process of its own, and `meanwhile` in this one, which then waits for it; signals to this process
/// are passed on, and the other one is told to end if this one does. The status to exit with. This process has one
/// thread.
pub(super) fn apart(
    body: impl FnOnce() -> Result<u8, Failure>,
    meanwhile: impl FnOnce() -> io::Result<()>,
) -> Result<u8, Failure> {
    let failed = |e: io::Error| Failure::system(format!("cannot start a process or thread: {e}"));
    let parent = getpid();
    // They wait until they can be passed on.
    let blocked = PASSED.into_iter().collect::<SigSet>().thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let before = blocked.map_err(|e| failed(e.into()))?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| failed(e.into()))? {
        ForkResult::Child => {
            let tied = before.thread_set_mask().and_then(|()| prctl::set_pdeathsig(Signal::SIGTERM));
            if tied.is_err() || getppid() != parent {
                exit(1);
            }
            exit(body().unwrap_or_else(|failure| failure.report()).into())
        }
        ForkResult::Parent { child } => {
            pass_on_to(child);
            let started = before.thread_set_mask().map_err(io::Error::from).and_then(|()| meanwhile()).map_err(failed);
            if started.is_err() {
                // It may have ended.
                let _ = kill(child, Signal::SIGTERM);
            }
            let status = wait_for(child);
            started.map(|()| status)
        }
    }
}

static CHILD: AtomicI32 = AtomicI32::new(0);

extern "C" fn pass_on(number: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes what it knows of the signal.
    let code = unsafe { (*info).si_code };
    if let Some(signal) = Signal::try_from(number).ok().filter(|signal| !signals::is_for_all(*signal, code)) {
        // It may have ended.
        let _ = kill(Pid::from_raw(CHILD.load(Ordering::Relaxed)), signal);
    }
}

fn pass_on_to(child: Pid) {
    CHILD.store(child.as_raw(), Ordering::Relaxed);
    let action =
        SigAction::new(SigHandler::SigAction(pass_on), SaFlags::SA_SIGINFO | SaFlags::SA_RESTART, SigSet::empty());
    for signal in PASSED {
        // SAFETY: the handler makes system calls alone.
        let _ = unsafe { sigaction(signal, &action) };
    }
}

fn wait_for(child: Pid) -> u8 {
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, status)) => return status as u8,
            Ok(WaitStatus::Signaled(_, signal, _)) => return 128 + signal as u8,
            Err(nix::errno::Errno::EINTR) | Ok(_) => {}
            Err(_) => return 1,
        }
    }
}

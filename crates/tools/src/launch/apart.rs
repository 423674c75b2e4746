//! A job in a process of its own, which may become a launcher, while this one waits for its end.

use std::io;
use std::process::exit;

use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::failure::Failure;

/// Runs `body` in a process of its own, and `meanwhile` in this one, which then waits for it; signals to this process
/// are passed on. The status to exit with. This process has one thread.
pub(super) fn apart(
    body: impl FnOnce() -> Result<u8, Failure>,
    meanwhile: impl FnOnce() -> io::Result<()>,
) -> Result<u8, Failure> {
    let failed = |e: io::Error| Failure::system(format!("cannot start a process or thread: {e}"));
    // SAFETY: this process has one thread.
    match unsafe { fork() }.map_err(|e| failed(e.into()))? {
        ForkResult::Child => exit(body().unwrap_or_else(|failure| failure.report()).into()),
        ForkResult::Parent { child } => {
            let started = meanwhile().map_err(failed);
            if started.is_err() {
                // It may have ended.
                let _ = kill(child, Signal::SIGTERM);
            }
            let status = wait_for(child);
            started.map(|()| status)
        }
    }
}

static CHILD: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

extern "C" fn pass_on(number: i32) {
    let child = CHILD.load(std::sync::atomic::Ordering::Relaxed);
    if let Ok(signal) = Signal::try_from(number) {
        // It may have ended.
        let _ = kill(Pid::from_raw(child), signal);
    }
}

fn wait_for(child: Pid) -> u8 {
    CHILD.store(child.as_raw(), std::sync::atomic::Ordering::Relaxed);
    // The terminal sends this one to the child, too.
    // SAFETY: the signal is ignored.
    let _ = unsafe { signal(Signal::SIGINT, SigHandler::SigIgn) };
    for passed in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGUSR1, Signal::SIGUSR2] {
        // SAFETY: the handler calls kill alone.
        let _ = unsafe { signal(passed, SigHandler::Handler(pass_on)) };
    }
    loop {
        match waitpid(child, None) {
            Ok(WaitStatus::Exited(_, status)) => return status as u8,
            Ok(WaitStatus::Signaled(_, signal, _)) => return 128 + signal as u8,
            Err(nix::errno::Errno::EINTR) | Ok(_) => {}
            Err(_) => return 1,
        }
    }
}

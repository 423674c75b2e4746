//! The signals that `oshrun` handles.

use std::io;

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::signalfd::siginfo;
use nix::unistd::{getpid, getsid};

/// Signals that are passed on to the PEs.
const FORWARDED: [Signal; 9] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
    Signal::SIGTSTP,
    Signal::SIGCONT,
];

/// The kernel sends it to the supervisor when the launcher ends. It is the signal of a failing power
/// supply, which no other process sends.
pub(super) const LAUNCHER_GONE: Signal = Signal::SIGPWR;

/// Whether `signal` asks the job to end.
pub(super) fn ends_job(signal: Signal) -> bool {
    matches!(signal, Signal::SIGHUP | Signal::SIGINT | Signal::SIGQUIT | Signal::SIGTERM)
}

/// The signals that are read from a descriptor rather than handled.
#[derive(Debug)]
pub(super) struct Signals {
    /// What is blocked and read.
    pub taken: SigSet,
    /// What was blocked when `oshrun` started: the PEs get this back.
    pub inherited: SigSet,
}

impl Signals {
    /// Blocks the signals that matter here. A signal that was ignored when `oshrun` started (`nohup`)
    /// stays ignored.
    pub(super) fn take() -> io::Result<Self> {
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        // An inherited "ignore" would hide the ends of children.
        // SAFETY: restores the default action, so that no function is installed as a handler.
        unsafe { sigaction(Signal::SIGCHLD, &default)? };
        let mut taken = SigSet::from_iter([Signal::SIGCHLD, LAUNCHER_GONE]);
        taken.extend(FORWARDED.into_iter().filter(|s| !is_ignored(*s)));
        let inherited = taken.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        Ok(Self { taken, inherited })
    }
}

/// Gives the signals of faults their default action. Rust's own handlers, which report that the stack is
/// full, swallow such a signal once if a process has sent it.
pub(super) fn restore_faults() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGSEGV, Signal::SIGBUS] {
        // SAFETY: restores the default action, so that no function is installed as a handler.
        let _ = unsafe { sigaction(signal, &default) };
    }
}

fn is_ignored(signal: Signal) -> bool {
    // SAFETY: an all-zero sigaction is a value that the call below overwrites.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the call only writes `now`, which is alive.
    let read = unsafe { libc::sigaction(signal as i32, std::ptr::null(), &raw mut now) } == 0;
    read && now.sa_sigaction == libc::SIG_IGN
}

/// Which signal was read; `None` for one that nix has no name for.
pub(super) fn signal_of(info: &siginfo) -> Option<Signal> {
    Signal::try_from(info.ssi_signo as i32).ok()
}

/// Whether the terminal sent a signal that has this code.
pub(super) fn from_terminal(code: i32) -> bool {
    const SI_KERNEL: i32 = 0x80;
    code == SI_KERNEL
}

/// Whether every process of the job has the signal already, as those of the terminal. But one that closes hangs up on
/// the leader of its session alone, which `oshrun` is after `ssh -t HOST oshrun` or in a container.
pub(super) fn is_for_all(signal: Signal, code: i32) -> bool {
    let is_for_leader = || signal == Signal::SIGHUP && getsid(None).is_ok_and(|session| session == getpid());
    from_terminal(code) && !is_for_leader()
}

/// A signal's name: `SIGSEGV`.
pub(super) fn name(number: i32) -> String {
    match Signal::try_from(number) {
        Ok(signal) => signal.as_str().to_owned(),
        Err(_) if number >= libc::SIGRTMIN() => format!("SIGRTMIN+{}", number - libc::SIGRTMIN()),
        Err(_) => format!("signal {number}"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names() {
        assert_eq!(super::name(libc::SIGSEGV), "SIGSEGV");
        assert_eq!(super::name(libc::SIGRTMIN() + 3), "SIGRTMIN+3");
    }
}

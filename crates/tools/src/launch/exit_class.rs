//! Exit classification: what the end of one PE means for the job.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use ferroshmem_layout::PeState;

use super::signals;

/// The status by which the dynamic linker, and shells, say that something is not found.
const NOT_FOUND: i32 = 127;

/// What a user can do about it.
const LOADING: &str = " before shmem_init: if it does not find libshmem.so.1, link it by oshcc, which sets a run path, \
    or set LD_LIBRARY_PATH";

/// What the end of a PE means for the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExitClass {
    /// It has done its part.
    Done,
    /// Status 0, but not from `shmem_finalize`: an error only if the others wait for it.
    Unfinalized,
    /// It failed in a job that goes on without it, with this line for the user.
    Outlived(String),
    /// It failed, or called `shmem_global_exit`.
    EndsJob {
        /// Exit status of the job.
        status: u8,
        /// The line for the user, unless the PE has printed one.
        line: Option<String>,
        /// Whether the others, past `shmem_finalize` like this PE, may leave by themselves.
        others_leave: bool,
    },
}

/// What a PE that has ended left in its block, and what its job does without it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// How far it was.
    pub state: PeState,
    /// The argument of `shmem_global_exit`.
    pub global_status: i32,
    /// Whether the job goes on without PEs that fail.
    pub goes_on: bool,
}

/// Classifies the end of PE `pe`, which ran `program`.
pub(super) fn classify(pe: usize, program: &str, status: ExitStatus, left: Left) -> ExitClass {
    let Left { state, global_status, goes_on } = left;
    if state == PeState::GlobalExit {
        let status = (global_status & 0xff) as u8;
        return ExitClass::EndsJob { status, line: None, others_leave: false };
    }
    let (job_status, how) = match (status.code(), status.signal()) {
        (Some(0), _) if state == PeState::Finalized => return ExitClass::Done,
        (Some(0), _) if goes_on => (0, format!("exited with status 0 without {}", missing(state))),
        (Some(0), _) => return ExitClass::Unfinalized,
        (Some(NOT_FOUND), _) if state == PeState::Started => {
            (NOT_FOUND as u8, format!("exited with status {NOT_FOUND}{LOADING}"))
        }
        (Some(code), _) => (code as u8, format!("exited with status {code}")),
        (None, signal) => {
            let signal = signal.unwrap_or(libc::SIGKILL);
            let core = if status.core_dumped() { ", core dumped" } else { "" };
            let meaning = meaning(signal).map(|m| format!(" ({m}{core})")).unwrap_or_default();
            (128 + signal as u8, format!("was killed by {}{meaning}", signals::name(signal)))
        }
    };
    // The status that a program ends with after shmem_finalize is its result.
    let is_outlived = goes_on && (state != PeState::Finalized || status.code().is_none());
    let then = if is_outlived { "the job goes on without it" } else { "ended the job" };
    let line = format!("PE {pe} (\"{program}\") {how}; {then}");
    if is_outlived {
        return ExitClass::Outlived(line);
    }
    ExitClass::EndsJob {
        status: job_status,
        line: (state != PeState::Reported).then_some(line),
        others_leave: state == PeState::Finalized,
    }
}

/// The routine that a PE in this state, which has exited without finalising, has not called.
pub(super) fn missing(state: PeState) -> &'static str {
    match state {
        PeState::Started => "shmem_init",
        _ => "shmem_finalize",
    }
}

/// What the signals that kill programs mean.
fn meaning(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGSEGV => "segmentation fault",
        libc::SIGBUS => "bus error",
        libc::SIGILL => "illegal instruction",
        libc::SIGFPE => "arithmetic error",
        libc::SIGABRT => "aborted",
        libc::SIGTRAP => "trace trap",
        libc::SIGSYS => "forbidden system call",
        libc::SIGPIPE => "no process reads its output",
        libc::SIGXCPU => "processor time limit",
        libc::SIGXFSZ => "file size limit",
        libc::SIGKILL => "by a user, or for lack of memory",
        libc::SIGTERM => "by a user",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32, state: PeState) -> ExitClass {
        let left = Left { state, global_status: 0x107, goes_on: false };
        classify(2, "./a", ExitStatus::from_raw(code << 8), left)
    }

    fn killed(wait_status: i32) -> ExitClass {
        let left = Left { state: PeState::Initialized, global_status: 0, goes_on: false };
        classify(2, "./a", ExitStatus::from_raw(wait_status), left)
    }

    fn parts(class: ExitClass) -> (u8, Option<String>, bool) {
        match class {
            ExitClass::EndsJob { status, line, others_leave } => (status, line, others_leave),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn good_ends() {
        assert_eq!(exited(0, PeState::Finalized), ExitClass::Done);
        assert_eq!(exited(0, PeState::Started), ExitClass::Unfinalized);
        assert_eq!(exited(0, PeState::Initialized), ExitClass::Unfinalized);
    }

    #[test]
    fn failures() {
        let (status, line, leave) = parts(exited(3, PeState::Initialized));
        assert_eq!((status, leave), (3, false));
        assert_eq!(line.unwrap(), "PE 2 (\"./a\") exited with status 3; ended the job");
        let (_, line, _) = parts(exited(127, PeState::Initialized));
        assert!(line.unwrap().contains("status 127; ended"));
        let (status, line, _) = parts(exited(127, PeState::Started));
        assert_eq!(status, 127);
        assert!(line.unwrap().contains("LD_LIBRARY_PATH; ended the job"));
        let (status, line, leave) = parts(exited(1, PeState::Finalized));
        assert_eq!((status, line.is_some(), leave), (1, true, true));
        assert_eq!(parts(exited(1, PeState::Reported)), (1, None, false));
        assert_eq!(parts(exited(9, PeState::GlobalExit)), (7, None, false));
        assert_eq!(parts(exited(0, PeState::GlobalExit)), (7, None, false));
    }

    #[test]
    fn signals() {
        let (status, line, _) = parts(killed(libc::SIGSEGV | 0x80));
        assert_eq!(status, 139);
        assert!(line.unwrap().contains("SIGSEGV (segmentation fault, core dumped)"));
        let (status, line, _) = parts(killed(libc::SIGRTMIN() + 2));
        assert_eq!(status, 128 + libc::SIGRTMIN() as u8 + 2);
        assert!(line.unwrap().contains("SIGRTMIN+2"));
    }

    #[test]
    fn a_job_that_goes_on_ends_with_the_result_of_its_programs() {
        let of =
            |raw, state| classify(2, "./a", ExitStatus::from_raw(raw), Left { state, global_status: 5, goes_on: true });
        let outlived = |raw, state| match of(raw, state) {
            ExitClass::Outlived(line) => line,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            outlived(libc::SIGKILL, PeState::Initialized),
            "PE 2 (\"./a\") was killed by SIGKILL (by a user, or for lack of memory); the job goes on without it"
        );
        assert!(outlived(libc::SIGSEGV, PeState::Finalized).ends_with("; the job goes on without it"));
        assert!(outlived(libc::SIGSEGV, PeState::Reported).contains("SIGSEGV"));
        assert!(outlived(3 << 8, PeState::Initialized).contains("exited with status 3; the job goes on"));
        assert!(outlived(0, PeState::Initialized).contains("status 0 without shmem_finalize; the job goes on"));
        assert!(outlived(0, PeState::Started).contains("status 0 without shmem_init; the job goes on"));
        assert_eq!(of(0, PeState::Finalized), ExitClass::Done);
        assert_eq!(parts(of(4 << 8, PeState::Finalized)).0, 4);
        assert_eq!(parts(of(libc::SIGKILL, PeState::GlobalExit)).0, 5);
    }
}

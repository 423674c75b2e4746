//! Where in the program a thread of this process has called the library, as source lines: `oshrun` reads the symbols.
//!
//! This process may be about to end, in a signal handler, so it only starts the command and waits. Operations that are
//! expanded in the program have frames of their own in the debug information, so they are calls, too.

use std::ffi::{CString, c_int};
use std::fmt::Write;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use ferroshmem_platform::line::FixedText;
use ferroshmem_platform::{Registers, child};

use super::debugger::allow_tracers;
use crate::job::{Attachment, adoption};

/// How long the command may take.
pub(super) const LONGEST: Duration = Duration::from_secs(5);
/// Bytes of an answer, at most.
const ANSWER: usize = 1024;

static OSHRUN: OnceLock<CString> = OnceLock::new();

/// Finds the command, for signal handlers.
pub fn prepare(job: &Attachment) {
    let path = match job.launched {
        // It runs, so it is there even if it was installed anew meanwhile.
        true => Some(format!("/proc/{}/exe", job.control.header().launcher_pid).into_bytes()),
        false => adoption::find_beside().map(|path| path.into_os_string().into_encoded_bytes()),
    };
    if let Some(path) = path.and_then(|path| CString::new(path).ok()) {
        let _ = OSHRUN.set(path);
    }
}

/// What the command answers.
#[derive(Debug)]
pub struct Answer {
    bytes: [u8; ANSWER],
    len: usize,
}

impl Answer {
    fn lines(&self) -> impl Iterator<Item = &str> {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default().lines()
    }

    /// The routine that was called; None if the thread is not in the library, nor in an operation of its that is
    /// expanded in the program.
    pub fn routine(&self) -> Option<&str> {
        self.lines().next().filter(|routine| !routine.is_empty())
    }

    /// The place of the call; of a thread in no routine, where it is.
    pub fn place(&self) -> Option<&str> {
        self.lines().nth(1)
    }
}

/// Asks where a thread with these registers is, of this process. None if `handler` is a function of this process
/// other than that by which Rust's standard library says that the stack is full, or 0. Safe in a signal handler once
/// [`prepare`] has found the command.
pub fn query(registers: Registers, handler: usize) -> Option<Answer> {
    let command = OSHRUN.get()?;
    let mut argument = FixedText::<128>::new();
    let Registers { pc, sp, fp, lr } = registers;
    let pid = std::process::id();
    let _ = write!(argument, "{}{pid},{pc},{sp},{fp},{lr},{handler}\0", adoption::PLACE);
    let words = [c"oshrun".as_ptr(), argument.as_str().as_ptr().cast(), ptr::null()];
    // It reads the stack.
    allow_tracers();
    let mut pipe: [c_int; 2] = [-1; 2];
    // SAFETY: async-signal-safe calls, on descriptors that are this function's own; the words end in null pointers.
    unsafe {
        if libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return None;
        }
        let [reading, writing] = pipe;
        let into_pipe = || {
            libc::dup2(writing, libc::STDOUT_FILENO);
        };
        let started = child::start_in_handler(command, &words, [ptr::null()].as_ptr(), into_pipe);
        libc::close(writing);
        let answer = started.and_then(|_| Answer::read(reading));
        libc::close(reading);
        if let Some(child) = started {
            if answer.is_none() {
                libc::kill(child, libc::SIGKILL);
            }
            child::wait_in_handler(child);
        }
        answer.filter(|answer| answer.place().is_some())
    }
}

impl Answer {
    /// Reads to the end; None if that takes too long.
    fn read(pipe: c_int) -> Option<Self> {
        let mut this = Self { bytes: [0; ANSWER], len: 0 };
        loop {
            let mut ready = libc::pollfd { fd: pipe, events: libc::POLLIN, revents: 0 };
            let rest = &mut this.bytes[this.len..];
            // SAFETY: async-signal-safe calls; the buffer has so many bytes.
            let n = unsafe {
                if libc::poll(&raw mut ready, 1, LONGEST.as_millis() as c_int) != 1 {
                    return None;
                }
                libc::read(pipe, rest.as_mut_ptr().cast(), rest.len())
            };
            match usize::try_from(n) {
                Ok(n) if n > 0 => this.len += n,
                _ => return Some(this),
            }
        }
    }
}

/// Where the program has called the library, by its command; None if that cannot be had.
pub(super) fn of_caller() -> Option<String> {
    if OSHRUN.get().is_none() {
        let path = adoption::find().ok()?.into_os_string().into_encoded_bytes();
        let _ = OSHRUN.set(CString::new(path).ok()?);
    }
    let answer = query(Registers::here(), 0)?;
    answer.routine()?;
    answer.place().map(str::to_owned)
}

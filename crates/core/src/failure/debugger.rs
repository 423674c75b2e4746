//! Debuggers: a PE that waits in `shmem_init` until one is attached, and one that starts gdb on itself before it ends
//! badly.

use std::ffi::{CString, c_int};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{ptr, thread};

use ferroshmem_config::DebuggerSettings;
use ferroshmem_platform::{child, number_list, process};

use super::place;
use crate::job::{self, Attachment};

/// Time between looks for a debugger.
const LOOK: Duration = Duration::from_millis(20);
/// After this time the user is told what the PE waits for.
const SILENT: Duration = Duration::from_secs(2);
/// How long another PE that fails meanwhile leaves the job to the first one's gdb.
const OTHERS_WAIT: Duration = Duration::from_secs(120);

/// What runs when this PE is about to end badly.
#[derive(Debug)]
struct Gdb {
    /// For the shell: prints a backtrace.
    backtrace: CString,
    /// For the shell: talks to the user, if one is asked for.
    session: Option<CString>,
}

static GDB: OnceLock<Gdb> = OnceLock::new();

/// Waits for a debugger, if this PE is to, and prepares for a bad end. Called before the PE counts as initialised.
pub fn prepare(job: &Attachment, settings: &DebuggerSettings) {
    let list = settings.wait_for.as_deref();
    let waits = |list: &str| list == "all" || number_list::numbers(list).contains(&job.pe);
    if list.is_some_and(waits) {
        wait(job);
    }
    if let Some(mode) = settings.gdb.as_deref().filter(|mode| *mode != "0") {
        let gdb = GDB.get_or_init(|| Gdb::new(job.pe, mode == "interactive"));
        debug_assert!(!gdb.backtrace.is_empty());
        catch_signals();
    }
}

/// Lets any process of this user attach: where only ancestors may (Yama), a debugger beside the PE could not.
pub fn allow_tracers() {
    // SAFETY: changes an attribute of this process alone; kernels without Yama refuse.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
}

fn wait(job: &Attachment) {
    let (begin, mut is_said) = (Instant::now(), false);
    let pid = std::process::id();
    let is_released = &job.block().debugger_has_ended;
    allow_tracers();
    while !process::is_traced(pid as i32) && is_released.load(Ordering::Acquire) == 0 {
        if !is_said && begin.elapsed() > SILENT {
            is_said = true;
            let host = rustix::system::uname();
            let (pe, host) = (job.name_of_pe(), host.nodename().to_string_lossy());
            eprintln!("ferroshmem: {pe}: process {pid} on {host} waits for a debugger: gdb -p {pid}");
        }
        thread::sleep(LOOK);
    }
}

impl Gdb {
    fn new(pe: usize, is_interactive: bool) -> Self {
        let pid = std::process::id();
        let missing = format!(
            "command -v gdb >/dev/null || {{ echo \"ferroshmem: PE {pe}: gdb is not in PATH: no backtrace\"; exit 1; }}"
        );
        let backtrace = format!(
            "exec </dev/null >&2; {missing}; echo \"ferroshmem: PE {pe}: backtrace of process {pid}:\"; \
             DEBUGINFOD_URLS= exec gdb -q -nx -batch -iex 'set pagination off' -p {pid} -ex 'thread apply all \
             backtrace' 2>&1"
        );
        let session = format!(
            "exec </dev/tty >/dev/tty 2>&1; {missing}; echo \"ferroshmem: PE {pe} is about to end; quit gdb to let \
                it\"; \
             exec gdb -q -p {pid} -ex backtrace"
        );
        let text = |text: String| CString::new(text).expect("no NUL in it");
        Self { backtrace: text(backtrace), session: is_interactive.then(|| text(session)) }
    }
}

/// Has signals that end a program for its own fault caught; those of memory are caught already.
fn catch_signals() {
    for signal in [libc::SIGABRT, libc::SIGFPE, libc::SIGILL] {
        // SAFETY: zeroed sigactions are valid; the handler below is async-signal-safe.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, ptr::null(), &raw mut old);
            if old.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut new: libc::sigaction = std::mem::zeroed();
            new.sa_sigaction = handler as *const () as usize;
            new.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &raw const new, ptr::null_mut());
        }
    }
}

extern "C" fn handler(signal: c_int) {
    at_failure();
    // The default action, once this handler has returned.
    // SAFETY: raise is async-signal-safe.
    unsafe { libc::raise(signal) };
}

/// Runs gdb on this process, if that is asked for. One PE of a node does; others that fail meanwhile wait until they
/// are ended. Safe in a signal handler.
pub fn at_failure() {
    if GDB.get().is_some() && is_first_to_fail() {
        run_gdb();
    }
}

/// In place of a PE + 1: the PE that was looked at is about to end.
const LOOKED_AT: u32 = u32::MAX;

/// Makes this PE the one of its node that is looked at while it fails; false if another is, or was: then it has
/// waited here, as the end of that one may end the job. Safe in a signal handler.
pub fn is_first_to_fail() -> bool {
    let Some(job) = job::joined() else {
        return false;
    };
    let mine = job.pe as u32 + 1;
    let claim = &job.control.header().failing;
    let Err(first) = claim.compare_exchange(0, mine, Ordering::AcqRel, Ordering::Acquire) else {
        return true;
    };
    // If it is this one, it has failed again, while it is looked at or after.
    let begin = Instant::now();
    while first != mine
        && first != LOOKED_AT
        && claim.load(Ordering::Acquire) == first
        && begin.elapsed() < wait_for_first()
    {
        pause(Duration::from_millis(1));
    }
    false
}

/// This PE, the first to fail, has been looked at, and ends now. Safe in a signal handler.
pub fn let_others_fail() {
    if let Some(job) = job::joined() {
        job.control.header().failing.store(LOOKED_AT, Ordering::Release);
    }
}

/// Waits until this process is ended, as another thread of it fails already. Safe in a signal handler.
pub fn leave_to_first() {
    pause(wait_for_first());
}

/// Runs gdb on this process, if that is asked for, once it is the first to fail. Safe in a signal handler.
pub fn run_gdb() {
    let Some(gdb) = GDB.get() else { return };
    allow_tracers();
    let terminal = gdb.session.as_ref().and_then(|_| Terminal::open());
    let text = match (&gdb.session, &terminal) {
        (Some(session), Some(_)) => session,
        _ => &gdb.backtrace,
    };
    let words = [c"sh".as_ptr(), c"-c".as_ptr(), text.as_ptr(), ptr::null()];
    let take_terminal = || {
        if let Some(terminal) = &terminal {
            terminal.take();
        }
    };
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    // SAFETY: the words end in a null pointer, as the environment does; taking the terminal makes system calls alone.
    if let Some(child) = unsafe { child::start_in_handler(c"/bin/sh", &words, environ, take_terminal) } {
        child::wait_in_handler(child);
    }
    if let Some(terminal) = terminal {
        terminal.give_back();
    }
}

/// Sleeps. Safe in a signal handler.
fn pause(limit: Duration) {
    let seconds = libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX);
    let time = libc::timespec { tv_sec: seconds, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: async-signal-safe; the time is live.
    unsafe { libc::nanosleep(&raw const time, ptr::null_mut()) };
}

/// How long a PE that fails after another one leaves the job to that one.
pub(super) fn wait_for_first() -> Duration {
    match GDB.get() {
        None => place::LONGEST + Duration::from_secs(2),
        Some(gdb) if gdb.session.is_none() => OTHERS_WAIT,
        Some(_) => Duration::MAX,
    }
}

/// The terminal of this job, whose keys are to act on gdb alone.
struct Terminal {
    fd: c_int,
    group: libc::pid_t,
}

impl Terminal {
    /// None unless the job is in the foreground of one.
    fn open() -> Option<Self> {
        // SAFETY: async-signal-safe calls; a descriptor that is not used is closed.
        unsafe {
            let fd = libc::open(c"/dev/tty".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            let group = libc::getpgrp();
            if fd >= 0 && libc::tcgetpgrp(fd) != group {
                libc::close(fd);
                return None;
            }
            (fd >= 0).then_some(Self { fd, group })
        }
    }

    /// Puts this process into a group of its own, in the foreground.
    fn take(&self) {
        // SAFETY: async-signal-safe calls.
        unsafe {
            libc::setpgid(0, 0);
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(self.fd, libc::getpid());
            libc::signal(libc::SIGTTOU, libc::SIG_DFL);
        }
    }

    fn give_back(self) {
        // SAFETY: async-signal-safe calls.
        unsafe {
            libc::signal(libc::SIGTTOU, libc::SIG_IGN);
            libc::tcsetpgrp(self.fd, self.group);
            libc::close(self.fd);
        }
    }
}

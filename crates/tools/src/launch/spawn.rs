//! Starting one PE, at the cost of `vfork`.
//!
//! The child borrows the supervisor's memory until it calls `execve`, so nothing is copied,
//! however much the supervisor has mapped. In return it may only make system calls: all
//! strings are ready before it starts.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

use ferroshmem_config::JOB;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::prctl;
use nix::sys::resource::{Resource, rlim_t, setrlimit};
use nix::sys::signal::{SigHandler, SigSet, Signal, signal};
use nix::unistd::{Pid, getpid, getppid};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{WaitOptions, chdir, waitpid};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};

use super::program::Executable;

/// Where a PE's standard streams go; `None` is where the supervisor's go.
#[derive(Debug, Default)]
pub(super) struct Streams<'a> {
    /// Standard input, output and error.
    pub fds: [Option<BorrowedFd<'a>>; 3],
}

/// What the supervisor has changed for itself and every PE gets back, and what all PEs share.
#[derive(Debug)]
pub(super) struct Common {
    /// What PEs inherit, open as long as they are started: the job's memory, the PEs' end of the service,
    /// and, where other PEs have asked for the job, the memory of the connection and of their job.
    pub inherited: Vec<RawFd>,
    /// Signals to block.
    pub mask: SigSet,
    /// Limits on open files.
    pub files: (rlim_t, rlim_t),
}

/// Why a PE could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpawnError {
    /// No process could be had.
    NoProcess(Errno),
    /// The process could not be prepared.
    Setup(Errno),
    /// The program was refused.
    Exec(Errno),
}

/// Starts processes; owns the stack on which they begin.
#[derive(Debug)]
pub(super) struct Spawner {
    common: Common,
    parent: Pid,
    stack: Vec<u128>,
}

/// What the child is to do. The strings behind the pointers outlive it.
struct ChildSetup<'a> {
    path: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    wdir: Option<&'a CStr>,
    streams: [Option<BorrowedFd<'a>>; 3],
    core: Option<&'a CpuSet>,
    common: &'a Common,
    parent: Pid,
    /// Set by the child when it fails.
    error: Option<SpawnError>,
}

impl Spawner {
    /// Bytes of stack: the child makes a dozen system calls.
    const STACK: usize = 64 << 10;

    /// A spawner for the PEs of one job.
    pub(super) fn new(common: Common) -> Self {
        let stack = vec![0; Self::STACK / size_of::<u128>()];
        Self { common, parent: getpid(), stack }
    }

    /// Starts PE `pe`. It is killed when the thread that calls this ends.
    pub(super) fn spawn(
        &mut self,
        pe: usize,
        program: &Executable,
        streams: &Streams<'_>,
        core: Option<&CpuSet>,
    ) -> Result<Pid, SpawnError> {
        let inherited = self.common.inherited.iter().map(ToString::to_string);
        let inherited = inherited.collect::<Vec<_>>().join(",");
        let job = format!("{}={inherited}:{pe}", JOB.name);
        let job = CString::new(job).expect("digits, commas and a colon");
        let argv = pointers(&program.arguments, None);
        let envp = pointers(&program.environment, Some(&job));
        let mut setup = ChildSetup {
            path: program.path.as_ptr(),
            argv: argv.as_ptr(),
            envp: envp.as_ptr(),
            wdir: program.wdir.as_deref(),
            streams: streams.fds,
            core,
            common: &self.common,
            parent: self.parent,
            error: None,
        };
        // Signals are blocked meanwhile: a handler must not run in the child.
        let blocked = SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK);
        // SAFETY: the stack is large enough, grows down from its aligned end, and is not
        // used by anything else; CLONE_VFORK holds this thread until the child has left the
        // shared memory, so `setup` and all it points to live long enough.
        let pid = unsafe {
            libc::clone(
                child,
                self.stack.as_mut_ptr_range().end.cast(),
                libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD,
                ptr::from_mut(&mut setup).cast(),
            )
        };
        let failed = Errno::last();
        if let Ok(mask) = blocked {
            let _ = mask.thread_set_mask();
        }
        if pid < 0 {
            return Err(SpawnError::NoProcess(failed));
        }
        // SAFETY: the child wrote it, if at all, before this thread ran on.
        match unsafe { ptr::read_volatile(&raw const setup.error) } {
            None => Ok(Pid::from_raw(pid)),
            Some(error) => {
                // Its status adds nothing to the error.
                let _ = waitpid(rustix::process::Pid::from_raw(pid), WaitOptions::empty());
                Err(error)
            }
        }
    }
}

/// The null-terminated array that `execve` takes.
fn pointers(strings: &[CString], last: Option<&CString>) -> Vec<*const c_char> {
    let all = strings.iter().chain(last).map(|s| s.as_ptr());
    all.chain([ptr::null()]).collect()
}

/// Runs in the child, on its own stack, in the supervisor's memory.
extern "C" fn child(setup: *mut c_void) -> c_int {
    // SAFETY: `spawn` passes a live `ChildSetup`, and does not touch it until this process has
    // left the supervisor's memory.
    let setup = unsafe { &mut *setup.cast::<ChildSetup<'_>>() };
    let error = match setup.prepare() {
        Err(e) => SpawnError::Setup(e),
        Ok(()) => {
            // SAFETY: null-terminated strings and arrays, alive until this process has
            // left the memory they are in.
            unsafe { libc::execve(setup.path, setup.argv, setup.envp) };
            SpawnError::Exec(Errno::last())
        }
    };
    setup.error = Some(error);
    // SAFETY: ends this process only, without running anything of the supervisor.
    unsafe { libc::_exit(127) }
}

impl ChildSetup<'_> {
    /// Makes this process what a PE expects to be. System calls only.
    fn prepare(&self) -> nix::Result<()> {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        if getppid() != self.parent {
            // The supervisor died before it could take this process with it.
            // SAFETY: ends this process only.
            unsafe { libc::_exit(127) };
        }
        let [input, output, error] = self.streams;
        if let Some(fd) = input {
            dup2_stdin(fd).map_err(errno)?;
        }
        if let Some(fd) = output {
            dup2_stdout(fd).map_err(errno)?;
        }
        if let Some(fd) = error {
            dup2_stderr(fd).map_err(errno)?;
        }
        for fd in &self.common.inherited {
            // SAFETY: `Common` promises that the supervisor keeps it open.
            let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
            fcntl_setfd(fd, FdFlags::empty()).map_err(errno)?;
        }
        let (soft, hard) = self.common.files;
        setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?;
        if let Some(core) = self.core {
            sched_setaffinity(Pid::from_raw(0), core)?;
        }
        if let Some(wdir) = self.wdir {
            chdir(wdir).map_err(errno)?;
        }
        // Rust programs ignore SIGPIPE, and the exec would hand that on.
        // SAFETY: restores the default action, so that no function is installed as a handler.
        unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl)? };
        self.common.mask.thread_set_mask()
    }
}

/// The number of an error, as nix has it.
fn errno(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

//! A program that no launcher has started gets an `oshrun` once it asks for PEs: one that watches it as if it had
//! started it.

use std::ffi::{CStr, OsString, c_void};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::{env, ffi::OsStr, os::unix::ffi::OsStrExt};

use ferroshmem_config as config;
use ferroshmem_platform::child::end_with_parent;
use rustix::io::FdFlags;
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use super::service;

/// What the first argument of such an `oshrun` begins with. Behind it are the descriptors of the job's memory, of the
/// service's end and of the process, and the number of the process.
pub const ARGUMENT: &str = "--adopt=";

/// What the only argument of an `oshrun` begins with that says what the PEs of a node do. Behind it are the descriptor
/// of the job's memory, and the numbers of the node's PEs in the job.
pub const LOOK: &str = "--look=";

/// What the only argument of an `oshrun` begins with that shows again and again what the PEs of a node count. Behind it
/// are the descriptor of the job's memory, and the seconds from one time to the next.
pub const STATUS: &str = "--status-of=";

/// What the only argument of an `oshrun` begins with that says where in its program a thread has called the library.
/// Behind it are the number of its process, its registers as of `Registers`, and a
/// handler of faults, 0 if it has none: of one that is not Rust's, nothing is said.
pub const PLACE: &str = "--place=";

/// The name of the command.
const OSHRUN: &str = "oshrun";

/// Why there is no `oshrun`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptionError {
    /// No file of its.
    #[error(
        "there is no oshrun beside the library, nor in PATH: start the program by oshrun, or put the bin folder of an \
            installation in PATH"
    )]
    NotFound,
    /// Another library's.
    #[error("{0:?} is not the oshrun of this library: start the program by oshrun, or put its folder first in PATH")]
    Foreign(PathBuf),
    /// It does not start.
    #[error("oshrun cannot be started: {0}")]
    Io(#[from] io::Error),
}

/// Starts an `oshrun` that watches this process, a job of one PE with this memory; the end of its service.
pub(super) fn start(memory: &File) -> Result<OwnedFd, AdoptionError> {
    let oshrun = find()?;
    let (theirs, mine) = service::open()?;
    rustix::io::fcntl_setfd(&mine, FdFlags::CLOEXEC).map_err(io::Error::from)?;
    let pid = getpid();
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(io::Error::from)?;
    let inherited = [memory.as_raw_fd(), theirs.as_raw_fd(), process.as_raw_fd()];
    let [a, b, c] = inherited;
    let mut command = Command::new(oshrun);
    command
        .arg(format!("{ARGUMENT}{a},{b},{c},{}", pid.as_raw_nonzero()))
        .arg(env::current_exe()?)
        .stdin(Stdio::null());
    let inherit = move || {
        for fd in inherited {
            // SAFETY: open until this function returns.
            let fd = unsafe { BorrowedFd::borrow_raw(fd) };
            rustix::io::fcntl_setfd(fd, FdFlags::empty())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the closure calls fcntl and allocates nothing.
    unsafe { command.pre_exec(inherit) };
    let mut child = command.spawn()?;
    // It leaves a process of its own behind. Where the program ignores the ends of children, nothing can be waited for.
    let _ = child.wait();
    Ok(mine)
}

/// Starts an `oshrun` with this only argument, which inherits a job's memory, and ends with the thread that starts it.
pub fn start_beside(argument: &str, memory: &File) -> Result<Child, AdoptionError> {
    let memory = memory.as_raw_fd();
    let mut command = Command::new(find()?);
    command.arg(argument).stdin(Stdio::null());
    let inherit = move || {
        // SAFETY: open as long as this process.
        let memory = unsafe { BorrowedFd::borrow_raw(memory) };
        rustix::io::fcntl_setfd(memory, FdFlags::empty())?;
        Ok(())
    };
    // SAFETY: between fork and exec, the closure calls fcntl and allocates nothing.
    unsafe { command.pre_exec(inherit) };
    end_with_parent(&mut command);
    Ok(command.spawn()?)
}

/// The `oshrun` that is installed with the library, else the first one in `PATH`, if that is of this library.
pub fn find() -> Result<PathBuf, AdoptionError> {
    if let Some(found) = find_beside() {
        return Ok(found);
    }
    let path = config::search_path().unwrap_or_default();
    let found = env::split_paths(&path)
        .map(|folder| folder.join(OSHRUN))
        .find(|file| file.is_file())
        .ok_or(AdoptionError::NotFound)?;
    let version = Command::new(&found).arg("--version").output()?;
    // Other libraries have a command of the same name.
    match is_own(&version.stdout) {
        true => Ok(found),
        false => Err(AdoptionError::Foreign(found)),
    }
}

/// The `oshrun` that is installed with the library.
pub fn find_beside() -> Option<PathBuf> {
    let library = library()?;
    let file = library.parent()?.parent()?.join("bin").join(OSHRUN);
    file.is_file().then_some(file)
}

/// Whether this is what our `oshrun --version` prints: its version. Open MPI's prints another name in between.
fn is_own(version: &[u8]) -> bool {
    let number = version.strip_prefix(b"oshrun ");
    number.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

/// The file of the shared library, if this code is in one.
fn library() -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    let here = library as *const c_void;
    // SAFETY: any address may be asked for; `info` is written if the result is not 0.
    let info = unsafe { (libc::dladdr(here, info.as_mut_ptr()) != 0).then(|| info.assume_init())? };
    // SAFETY: the dynamic linker's string, null if there is none.
    let name = (!info.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(info.dli_fname) })?;
    let file = PathBuf::from(OsString::from(OsStr::from_bytes(name.to_bytes())));
    let is_library = file.file_name()?.as_bytes().starts_with(b"libshmem.so");
    let file = file.canonicalize().ok()?;
    is_library.then_some(file)
}

#[cfg(test)]
mod tests {
    use super::is_own;

    #[test]
    fn other_libraries_have_an_oshrun() {
        assert!(is_own(b"oshrun 0.1.0\n"));
        assert!(!is_own(b"oshrun (OpenRTE) 4.1.4\n"));
        assert!(!is_own(b"oshrun "));
        assert!(!is_own(b""));
    }
}

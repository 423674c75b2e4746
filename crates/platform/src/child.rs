//! Processes that this one starts.

use std::ffi::{CStr, c_char, c_int};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::Signal;

/// Has the kernel send `SIGTERM` to what `command` starts when the thread that started it ends,
/// however that may be. If it has ended before the command is executed, nothing is.
pub fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    // SAFETY: between fork and exec this makes two system calls.
    unsafe { command.pre_exec(move || attach(parent)) };
}

fn attach(parent: u32) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
    if std::os::unix::process::parent_id() == parent { Ok(()) } else { Err(Errno::CHILD.into()) }
}

/// Starts a program; its process. Safe in a signal handler: it allocates nothing, takes no locks that this thread may
/// hold, and the end of the process raises no signal. `before` runs in the child.
///
/// # Safety
/// `words` and `environment` end in a null pointer, and their other pointers are to C strings. `before` makes system
/// calls alone.
pub unsafe fn start_in_handler(
    program: &CStr,
    words: &[*const c_char],
    environment: *const *const c_char,
    before: impl FnOnce(),
) -> Option<c_int> {
    // fork would run handlers of the program.
    // SAFETY: a child with a copy of all memory, which makes system calls alone and then becomes another program.
    unsafe {
        let child = libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) as c_int;
        if child == 0 {
            before();
            libc::execve(program.as_ptr(), words.as_ptr(), environment);
            libc::_exit(127);
        }
        (child > 0).then_some(child)
    }
}

/// Waits until a process of [`start_in_handler`] has ended.
pub fn wait_in_handler(child: c_int) {
    // SAFETY: async-signal-safe calls; no status is asked for.
    unsafe {
        while libc::waitpid(child, std::ptr::null_mut(), libc::__WALL) < 0 && *libc::__errno_location() == libc::EINTR {
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn the_end_of_the_starting_thread_ends_the_child() {
        let (started, child) = mpsc::channel();
        let starter = thread::spawn(move || {
            let mut command = Command::new("sleep");
            end_with_parent(command.arg("60"));
            let child = command.spawn().unwrap();
            started.send(child).unwrap();
        });
        starter.join().unwrap();
        let status = child.recv().unwrap().wait().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGTERM));
    }

    #[test]
    fn nothing_is_executed_for_a_parent_that_has_gone() {
        let mut command = Command::new("true");
        // SAFETY: as above. No process has the number 0.
        unsafe { command.pre_exec(|| attach(0)) };
        let error = command.spawn().unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ECHILD));
    }
}

//! Processes that this one starts.

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

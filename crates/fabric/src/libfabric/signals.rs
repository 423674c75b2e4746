//! What a process does on signals, while a library is loaded that changes it: libinfinipath, which
//! Debian's libfabric is linked with, catches SIGINT, SIGTERM and what crashes raise, prints a
//! backtrace and writes it to a file in the working directory.

use std::mem::MaybeUninit;

/// Signals that may have handlers: the standard ones.
const SIGNALS: std::ops::Range<libc::c_int> = 1..32;

/// The actions on all signals. Dropped, they are in force again.
pub(super) struct Actions(Vec<(libc::c_int, libc::sigaction)>);

impl Actions {
    /// Those in force.
    pub(super) fn now() -> Actions {
        Actions(SIGNALS.filter_map(|n| Some((n, action(n)?))).collect())
    }
}

impl Drop for Actions {
    fn drop(&mut self) {
        for (signal, action) in &self.0 {
            // SAFETY: an action that the kernel gave; it is refused for SIGKILL and SIGSTOP,
            // which no process can change.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

fn action(signal: libc::c_int) -> Option<libc::sigaction> {
    let mut action = MaybeUninit::uninit();
    // SAFETY: changes nothing and fills the structure, unless it fails.
    unsafe {
        let result = libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        (result == 0).then(|| action.assume_init())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Library;
    use super::*;

    #[test]
    fn loading_libfabric_changes_no_action() {
        let handlers = || SIGNALS.filter_map(|n| Some((n, action(n)?.sa_sigaction)));
        let before: Vec<_> = handlers().collect();
        // Without a libfabric, there is nothing to be changed.
        let _ = Library::open(None);
        assert_eq!(handlers().collect::<Vec<_>>(), before);
    }
}

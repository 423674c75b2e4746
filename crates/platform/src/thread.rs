//! Threads of the library, beside those of the program.

use std::ffi::c_int;
use std::{io, mem, ptr, thread};

/// Starts a thread that gets no signals but those of its own faults: others are for the program's threads, and a
/// handler of the program may wait for what this thread does. `stack` is in bytes.
///
/// # Errors
/// If the system starts no more threads.
pub fn spawn(name: &str, stack: usize, body: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    spawn_boxed(name, stack, Box::new(body))
}

/// Once in the library, not for every body: the standard library's part of it takes kilobytes.
fn spawn_boxed(name: &str, stack: usize, body: Box<dyn FnOnce() + Send>) -> io::Result<thread::JoinHandle<()>> {
    /// The kernel ends a process that blocks them and faults, without a word of the handler that explains why.
    const FAULTS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];

    // SAFETY: sigset_t is plain data that sigfillset and pthread_sigmask write before it is read; the mask
    // is that of this thread, which gets the old one back below.
    let old = unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        let mut old: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut all);
        for signal in FAULTS {
            libc::sigdelset(&raw mut all, signal);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut old);
        old
    };
    let builder = thread::Builder::new().name(name.into()).stack_size(stack);
    let spawned = builder.spawn(body);
    // SAFETY: `old` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const old, ptr::null_mut()) };
    spawned
}

/// Gives the calling thread the policy `SCHED_IDLE`: it runs where a core has nothing else to do, and leaves it as soon
/// as another thread is ready there. It cannot give the policy back. Whether the system allows it.
pub fn become_idle() -> bool {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are a live structure.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether this thread would get a signal.
    fn gets(signal: c_int) -> bool {
        // SAFETY: no change is asked for, and the mask is written before it is read.
        unsafe {
            let mut mask: libc::sigset_t = mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut mask);
            libc::sigismember(&raw const mask, signal) == 0
        }
    }

    #[test]
    fn the_thread_gets_its_faults_alone_and_its_parent_all_signals() {
        let body = || assert!(!gets(libc::SIGUSR1) && gets(libc::SIGSEGV));
        spawn("test", 64 << 10, body).unwrap().join().unwrap();
        assert!(gets(libc::SIGUSR1));
    }
}

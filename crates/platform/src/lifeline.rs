//! Noticing the end of a process before its memory and files are released.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};

/// A lock in shared memory that a thread of a process holds as long as the process lives. Another process that
/// waits for the lock gets it in the moment in which the first one begins to end: the kernel passes the robust
/// locks of a thread on first of all. A process of some hundred megabytes takes milliseconds more until its
/// sockets are closed, by which launchers notice its end, and until `poll` reports its pidfd.
///
/// Zeros are a lifeline that no thread holds.
#[repr(C)]
pub struct Lifeline {
    lock: UnsafeCell<MaybeUninit<libc::pthread_mutex_t>>,
    /// A [`State`] of the holder's.
    state: AtomicU32,
}

// SAFETY: threads of all processes use the lock by the functions of pthread alone, once `state` shows that it
// is initialised; the one that initialises it has changed `state` before.
unsafe impl Sync for Lifeline {}
// SAFETY: as above; it moves with no thread, as it lies in shared memory.
unsafe impl Send for Lifeline {}

/// What has become of a lifeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum State {
    Unused,
    /// A thread makes it.
    Claimed,
    /// A thread holds it.
    Held,
}

/// The end of the wait for a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The process, or the thread that held the lifeline, ends.
    Ended,
    /// No thread holds the lifeline yet.
    NotHeld,
    /// It cannot be waited for.
    Failed,
}

impl Lifeline {
    /// Has the calling thread hold the lifeline until it ends; whether it does. A lifeline is held once.
    pub fn hold(&self) -> bool {
        let (unused, claimed) = (State::Unused as u32, State::Claimed as u32);
        let claim = self.state.compare_exchange(unused, claimed, Ordering::Relaxed, Ordering::Relaxed);
        let is_held = claim.is_ok() && self.lock();
        if is_held {
            self.state.store(State::Held as u32, Ordering::Release);
        }
        is_held
    }

    /// Makes the lock and takes it.
    fn lock(&self) -> bool {
        let mut attributes = MaybeUninit::uninit();
        let attributes = attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised before they are used and destroyed, and the lock before it is
        // taken; no other thread uses it, as this one has claimed it.
        unsafe {
            if libc::pthread_mutexattr_init(attributes) != 0 {
                return false;
            }
            let is_locked = libc::pthread_mutexattr_setpshared(attributes, libc::PTHREAD_PROCESS_SHARED) == 0
                && libc::pthread_mutexattr_setrobust(attributes, libc::PTHREAD_MUTEX_ROBUST) == 0
                && libc::pthread_mutex_init(self.lock.get().cast(), attributes) == 0
                && libc::pthread_mutex_lock(self.lock.get().cast()) == 0;
            libc::pthread_mutexattr_destroy(attributes);
            is_locked
        }
    }

    /// Waits until the process whose thread holds the lifeline ends.
    pub fn wait(&self) -> Wait {
        if self.state.load(Ordering::Acquire) != State::Held as u32 {
            return Wait::NotHeld;
        }
        // SAFETY: the lock was initialised before the state that was loaded was stored.
        let result = unsafe { libc::pthread_mutex_lock(self.lock.get().cast()) };
        if result == libc::EOWNERDEAD { Wait::Ended } else { Wait::Failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
    use std::{ptr, thread};

    fn shared() -> &'static Lifeline {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new memory of zeros, which is never unmapped.
        unsafe { &*mmap_anonymous(ptr::null_mut(), 4096, access, MapFlags::SHARED).unwrap().cast() }
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let line = shared();
        assert_eq!(line.wait(), Wait::NotHeld);
        // SAFETY: the child calls only what a child of a process with threads may.
        let child = unsafe { libc::fork() };
        if child == 0 {
            line.hold();
            loop {
                // SAFETY: waits for a signal.
                unsafe { libc::pause() };
            }
        }
        let waiter = thread::spawn(|| {
            loop {
                match line.wait() {
                    Wait::NotHeld => thread::yield_now(),
                    end => return end,
                }
            }
        });
        while line.state.load(Ordering::Acquire) != State::Held as u32 {
            thread::yield_now();
        }
        assert!(!waiter.is_finished());
        // SAFETY: the child of this test, not waited for yet.
        unsafe { libc::kill(child, libc::SIGKILL) };
        assert_eq!(waiter.join().unwrap(), Wait::Ended);
        // SAFETY: as above.
        unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
    }

    #[test]
    fn a_lifeline_is_held_once() {
        let line = shared();
        assert!(line.hold());
        assert!(!line.hold());
    }
}

//! What the program's threads and the helper thread tell each other.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::time::Duration;
use std::{io, ptr};

use crate::Error;

pub(crate) struct Bell {
    /// An eventfd that wakes the helper.
    fd: i32,
    stop: AtomicBool,
    /// The helper naps, since threads of the program let the provider work.
    napping: AtomicBool,
    /// Somebody has handed over since the helper looked.
    handed: AtomicBool,
    /// Moves while the program's threads let the provider work.
    turns: AtomicUsize,
    /// Changes when the helper has seen something happen.
    epoch: AtomicU32,
    sleepers: AtomicU32,
}

impl Bell {
    pub(crate) fn new() -> Result<Bell, Error> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            let why = io::Error::last_os_error();
            return Err(Error::new(format!("cannot make an eventfd: {why}")));
        }
        Ok(Bell {
            fd,
            stop: AtomicBool::new(false),
            napping: AtomicBool::new(false),
            handed: AtomicBool::new(false),
            turns: AtomicUsize::new(0),
            epoch: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
        })
    }

    /// A thread of the program lets the provider work.
    #[inline]
    pub(crate) fn moved(&self) {
        // Not atomic as a whole: all that matters is that it moves.
        self.turns
            .store(self.turns.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// What `moved` moves.
    pub(crate) fn turns(&self) -> usize {
        self.turns.load(Relaxed)
    }

    /// Threads sleep until the helper wakes them.
    pub(crate) fn is_awaited(&self) -> bool {
        self.sleepers.load(SeqCst) != 0
    }

    /// Whether somebody has handed over since the last call.
    pub(crate) fn was_handed_over(&self) -> bool {
        self.handed.swap(false, Relaxed)
    }

    /// The helper is to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.ring();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn ring(&self) {
        let one = 1u64.to_ne_bytes();
        // SAFETY: 8 bytes. If it cannot be written, it is readable already.
        unsafe { libc::write(self.fd, one.as_ptr().cast(), one.len()) };
    }

    /// A thread of the program stops letting the provider work: the helper's nap ends.
    pub(crate) fn hand_over(&self) {
        self.handed.store(true, Relaxed);
        if self.napping.swap(false, Relaxed) {
            self.ring();
        }
    }

    /// The helper naps; says whether it was called to take over.
    pub(crate) fn nap(&self, limit: Duration) -> bool {
        self.napping.store(true, Relaxed);
        self.block(-1, limit);
        !self.napping.swap(false, Relaxed)
    }

    /// The helper blocks until it is called or `fd` is readable, if that is a descriptor;
    /// says whether `fd` is.
    pub(crate) fn block(&self, fd: i32, limit: Duration) -> bool {
        let wanted = |fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        };
        let mut list = [wanted(fd), wanted(self.fd)];
        let limit = libc::timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: as many entries as are said; negative descriptors are passed over.
        unsafe { libc::ppoll(list.as_mut_ptr(), 2, &raw const limit, ptr::null()) };
        if list[1].revents != 0 {
            self.quiet_down();
        }
        list[0].revents != 0
    }

    fn quiet_down(&self) {
        let mut count = [0u8; 8];
        // SAFETY: room for 8 bytes.
        unsafe { libc::read(self.fd, count.as_mut_ptr().cast(), count.len()) };
    }

    /// Sleeps until the helper has seen something happen, or for some milliseconds.
    pub(crate) fn sleep(&self, done: &mut dyn FnMut() -> bool) {
        self.sleepers.fetch_add(1, SeqCst);
        let epoch = self.epoch.load(SeqCst);
        // What completes from here on is completed by the helper or by another thread of the
        // program, whose completions are seen after the time limit at the latest.
        if !done() {
            self.ring();
            let limit = libc::timespec {
                tv_sec: 0,
                tv_nsec: 2_000_000,
            };
            // SAFETY: the word is ours; the kernel reads the time limit.
            unsafe {
                libc::syscall(
                    libc::SYS_futex,
                    self.epoch.as_ptr(),
                    libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                    epoch,
                    &raw const limit,
                )
            };
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Wakes all who sleep.
    pub(crate) fn wake(&self) {
        if self.sleepers.load(SeqCst) == 0 {
            return;
        }
        self.epoch.fetch_add(1, SeqCst);
        // SAFETY: wakes who waits for this word.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.epoch.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            )
        };
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // SAFETY: ours.
        unsafe { libc::close(self.fd) };
    }
}

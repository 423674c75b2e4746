//! The calls of userfaultfd(2) that a monitor needs.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::registration::span::Span;

// From linux/userfaultfd.h and userfaultfd(2).
const USER_MODE_ONLY: libc::c_int = 1;
const API: u64 = 0xaa;
const FEATURE_PAGEFAULT_FLAG_WP: u64 = 1 << 0;
const FEATURE_EVENT_REMAP: u64 = 1 << 2;
const FEATURE_EVENT_REMOVE: u64 = 1 << 3;
const FEATURE_EVENT_UNMAP: u64 = 1 << 6;
/// Of Linux 5.19. Since 5.15 the kernel counts the changes under way, before that it only had
/// a flag that the first of two concurrent changes cleared (see [`Userfaultfd::changing`]).
const FEATURE_WP_HUGETLBFS_SHMEM: u64 = 1 << 12;
const REGISTER_MODE_WP: u64 = 1 << 1;
const EVENT_REMAP: u8 = 0x14;
const EVENT_REMOVE: u8 = 0x15;
const EVENT_UNMAP: u8 = 0x16;

/// `_IOC(dir, 0xaa, number, size)`; `dir`: 2 the kernel writes, 3 both.
const fn request(dir: u64, number: u64, size: usize) -> u64 {
    dir << 30 | (size as u64) << 16 | 0xaa << 8 | number
}

#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Range {
    start: u64,
    len: u64,
}

#[repr(C)]
struct Register {
    range: Range,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct WriteProtect {
    range: Range,
    mode: u64,
}

/// A message as it is read: `args` are `from, to, len` of a move, `start, end` of the others.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Message {
    event: u8,
    reserved: [u8; 7],
    args: [u64; 3],
}

/// What happened to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// The addresses may hold other memory now.
    Unmapped(Span),
    /// About to become zeros; the addresses stay mapped.
    Discarded(Span),
}

impl Message {
    fn event(&self) -> Option<Event> {
        let [first, second, third] = self.args.map(|arg| arg as usize);
        match self.event {
            EVENT_UNMAP => Some(Event::Unmapped(Span { start: first, end: second })),
            EVENT_REMAP => Some(Event::Unmapped(Span { start: first, end: first + third })),
            EVENT_REMOVE => Some(Event::Discarded(Span { start: first, end: second })),
            _ => None,
        }
    }
}

/// A userfaultfd, for the memory of the process that made it.
pub(super) struct Userfaultfd(OwnedFd);

impl Userfaultfd {
    pub(super) fn open() -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | USER_MODE_ONLY;
        // SAFETY: the call takes flags only.
        let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor, which nothing else owns yet.
        let this = Userfaultfd(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) });
        let events = FEATURE_EVENT_UNMAP | FEATURE_EVENT_REMOVE | FEATURE_EVENT_REMAP;
        let features = events | FEATURE_PAGEFAULT_FLAG_WP | FEATURE_WP_HUGETLBFS_SHMEM;
        this.call(0x3f, 3, &mut Api { api: API, features, ioctls: 0 })?;
        Ok(this)
    }

    /// Has events of this memory sent. An error where there is memory of a kind whose events
    /// the kernel does not send: files, System V segments.
    pub(super) fn arm(&self, span: Span) -> io::Result<()> {
        self.call(0x00, 3, &mut Register { range: range(span), mode: REGISTER_MODE_WP, ioctls: 0 })
    }

    /// Has no more events of it sent. Not an error if it is no longer mapped.
    pub(super) fn disarm(&self, span: Span) {
        let _ = self.call(0x01, 2, &mut range(span));
    }

    /// Whether some change of armed memory is under way: from before the memory is gone until
    /// the thread that changes it has noticed that its event was read.
    ///
    /// The kernel refuses write protection with EAGAIN in that time, which it looks at before
    /// anything else, so asking for it with an empty range, which is an error otherwise, is a
    /// system call that does nothing and takes no lock.
    pub(super) fn changing(&self) -> bool {
        let nothing = Range { start: 0, len: 0 };
        let refused = self.call(0x06, 3, &mut WriteProtect { range: nothing, mode: 0 });
        refused.is_err_and(|error| error.raw_os_error() != Some(libc::EINVAL))
    }

    /// Reads the events that are there and hands each to `report`. Allocates nothing.
    pub(super) fn read(&self, mut report: impl FnMut(Event)) {
        loop {
            let mut messages = [Message::default(); 16];
            // SAFETY: the pointer and length are those of a live array of integers.
            let bytes = unsafe { libc::read(self.0.as_raw_fd(), messages.as_mut_ptr().cast(), size_of_val(&messages)) };
            match usize::try_from(bytes) {
                Ok(bytes) => {
                    messages[..bytes / size_of::<Message>()].iter().filter_map(Message::event).for_each(&mut report);
                }
                Err(_) if last_errno() == libc::EINTR => {}
                Err(_) => return,
            }
        }
    }

    /// Sleeps until there may be an event.
    pub(super) fn wait(&self) {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live pollfd.
        unsafe { libc::poll(&raw mut poll, 1, -1) };
    }

    fn call<T>(&self, number: u64, dir: u64, argument: &mut T) -> io::Result<()> {
        let request = request(dir, number, size_of::<T>());
        // SAFETY: T is the structure that the request encodes the size of, alive and writable.
        match unsafe { libc::ioctl(self.0.as_raw_fd(), request, std::ptr::from_mut::<T>(argument)) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn range(span: Span) -> Range {
    Range { start: span.start as u64, len: span.len() as u64 }
}

fn last_errno() -> libc::c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() }
}

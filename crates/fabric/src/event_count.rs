//! How the program's threads and the progress thread wake each other.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*};
use std::time::Duration;

use ferroshmem_platform::futex;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{read, write};

use crate::Error;

/// A count of events that threads of the program sleep on, and a descriptor that wakes the progress
/// thread.
pub(crate) struct EventCount {
    /// An eventfd that wakes the progress thread.
    wake_up: OwnedFd,
    stop: AtomicBool,
    /// The progress thread sleeps, since threads of the program poll.
    sleeping: AtomicBool,
    /// A thread has yielded progress since the progress thread asked last.
    yielded: AtomicBool,
    /// Grows while threads of the program poll.
    polls: AtomicUsize,
    /// Changes when the progress thread has seen something happen.
    events: AtomicU32,
    waiters: AtomicU32,
}

impl EventCount {
    /// Descriptors that the progress thread blocks on at most: of the first endpoint and of all others.
    pub(crate) const MOST_READY: usize = 18;

    pub(crate) fn new() -> Result<EventCount, Error> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let wake_up = eventfd(0, flags).map_err(|error| Error::Eventfd { reason: error.to_string() })?;
        Ok(EventCount {
            wake_up,
            stop: AtomicBool::new(false),
            sleeping: AtomicBool::new(false),
            yielded: AtomicBool::new(false),
            polls: AtomicUsize::new(0),
            events: AtomicU32::new(0),
            waiters: AtomicU32::new(0),
        })
    }

    /// A thread of the program polls: the progress thread is to leave the provider to it.
    #[inline]
    pub(crate) fn count_poll(&self) {
        // Two threads may count as one: the progress thread only asks whether the count changes.
        let polls = self.polls.load(Relaxed).wrapping_add(1);
        self.polls.store(polls, Relaxed);
    }

    /// Polls of the program's threads so far, about.
    pub(crate) fn polls(&self) -> usize {
        self.polls.load(Relaxed)
    }

    /// Whether threads of the program sleep until the progress thread wakes them.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiters.load(SeqCst) != 0
    }

    /// Whether a thread has yielded progress since the last call.
    pub(crate) fn take_yielded(&self) -> bool {
        self.yielded.swap(false, Relaxed)
    }

    /// The progress thread is to end.
    pub(crate) fn stop(&self) {
        self.stop.store(true, SeqCst);
        self.notify();
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Wakes the progress thread.
    fn notify(&self) {
        // An eventfd that takes no more is readable already.
        let _ = write(&self.wake_up, &1u64.to_ne_bytes());
    }

    /// A thread of the program stops polling: the progress thread takes over.
    pub(crate) fn yield_progress(&self) {
        self.yielded.store(true, Relaxed);
        if self.sleeping.swap(false, Relaxed) {
            self.notify();
        }
    }

    /// The progress thread sleeps while threads of the program poll; returns whether one of them
    /// yielded progress to it.
    pub(crate) fn sleep(&self, limit: Duration) -> bool {
        self.sleeping.store(true, Relaxed);
        self.block(&[], limit);
        !self.sleeping.swap(false, Relaxed)
    }

    /// The progress thread blocks until it is notified or one of `ready`, at most [`MOST_READY`](Self::MOST_READY), is
    /// readable; returns whether one is.
    pub(crate) fn block(&self, ready: &[BorrowedFd<'_>], limit: Duration) -> bool {
        let own = self.wake_up.as_fd();
        let mut list = [own; 1 + EventCount::MOST_READY];
        for (place, fd) in list[1..].iter_mut().zip(ready) {
            *place = *fd;
        }
        let mut list = list.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let list = &mut list[..(1 + ready.len()).min(1 + EventCount::MOST_READY)];
        let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
        // Interrupted: as if the time had passed.
        let _ = poll(list, Some(&limit));
        let is_readable = |fd: &PollFd<'_>| !fd.revents().is_empty();
        if is_readable(&list[0]) {
            self.drain();
        }
        list[1..].iter().any(is_readable)
    }

    fn drain(&self) {
        // Nothing to be read: another notification was read already.
        let _ = read(&self.wake_up, &mut [0u8; 8]);
    }

    /// A thread of the program sleeps until the progress thread has seen something happen, or for
    /// two milliseconds, unless `done`.
    pub(crate) fn wait(&self, done: &mut dyn FnMut() -> bool) {
        const LIMIT: Duration = Duration::from_millis(2);

        // A thread that completes an operation releases that, and then looks for waiters. Either it sees this one, or
        // `done` sees the completion: so on x86 and on Arm (`event-count` in dev/litmus). C11 promises it for fences
        // alone, by which a poll would become slower; elsewhere the time limit ends the sleep.
        self.waiters.fetch_add(1, SeqCst);
        let events = self.events.load(SeqCst);
        // What completes from here on is completed by the progress thread or by another thread of
        // the program, whose completions this one sees after the time limit at the latest.
        if !done() {
            self.notify();
            futex::wait_private(&self.events, events, Some(LIMIT));
        }
        self.waiters.fetch_sub(1, SeqCst);
    }

    /// Wakes all threads of the program that [`wait`](Self::wait).
    pub(crate) fn wake(&self) {
        if self.has_waiters() {
            self.events.fetch_add(1, SeqCst);
            futex::wake_private(&self.events);
        }
    }
}

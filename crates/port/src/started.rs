//! Processes that the launcher has started for this one, and that use their connection no more.
//!
//! Each keeps its link until it ends. So the kernel says when that is, on whichever host.

use std::net::TcpStream;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The links of such processes.
pub(super) struct StartedProcesses(Mutex<Vec<TcpStream>>);

pub(super) static STARTED: StartedProcesses = StartedProcesses::none();

impl StartedProcesses {
    const fn none() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Adds processes by their links.
    pub(super) fn add(&self, links: impl Iterator<Item = TcpStream>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        retain_open(&mut all, Duration::ZERO);
        all.extend(links);
    }

    fn wait_for_end(&self) {
        const LIMIT: Duration = Duration::from_secs(3);
        /// The launcher learns from the kernel as well, and then closes what it has of the process.
        const NOTICE: Duration = Duration::from_millis(50);

        let mut all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if all.is_empty() {
            return;
        }
        let end = Instant::now() + LIMIT;
        while !all.is_empty() && Instant::now() < end {
            retain_open(&mut all, end.saturating_duration_since(Instant::now()));
        }
        thread::sleep(NOTICE);
    }
}

/// Waits until they have ended, and the launcher has heard of it. Those that go on for long after the end of their
/// connection are left alone.
pub fn wait_for_end() {
    STARTED.wait_for_end();
}

/// Removes links that have been closed, once there is one or the time has passed.
fn retain_open(links: &mut Vec<TcpStream>, limit: Duration) {
    let mut fds: Vec<_> = links.iter().map(|link| PollFd::new(link, PollFlags::IN)).collect();
    let limit = Timespec { tv_sec: limit.as_secs() as i64, tv_nsec: limit.subsec_nanos().into() };
    // Nothing is sent over them any more. A signal leaves all open.
    let is_open: Vec<bool> = match poll(&mut fds, Some(&limit)) {
        Ok(_) => fds.iter().map(|fd| fd.revents().is_empty()).collect(),
        Err(_) => return,
    };
    let mut is_open = is_open.into_iter();
    links.retain(|_| is_open.next().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};

    use super::*;

    #[test]
    fn a_process_is_waited_for_until_its_link_closes() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let pair = || {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (listener.accept().unwrap().0, theirs)
        };
        let pairs: Vec<_> = (0..3).map(|_| pair()).collect();
        let (links, theirs): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let (gone, mut theirs) = (theirs.len(), theirs);
        theirs.pop();
        let started = StartedProcesses::none();
        started.add(links.into_iter());
        let open = || started.0.lock().unwrap().len();
        // A child that another test has forked may hold the closed link for a moment.
        let end = Instant::now() + Duration::from_secs(60);
        while open() == gone && Instant::now() < end {
            started.add(std::iter::empty());
        }
        assert!(open() < gone);
        let ending = thread::spawn(move || {
            for their in theirs {
                thread::sleep(Duration::from_millis(20));
                drop(their);
            }
        });
        started.wait_for_end();
        assert_eq!(open(), 0);
        assert!(ending.is_finished());
        ending.join().unwrap();
    }
}

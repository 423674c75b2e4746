//! Where callers over TCP wait until they have said who they are: strangers, of which some may never say anything,
//! delay none of the others.

use std::io::{self, ErrorKind, Read};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Callers that have said nothing yet, of which more let the first ones go.
pub(super) const MOST_SILENT: usize = 256;

/// A listening socket and its callers, which begin with a message of a fixed length.
#[derive(Debug)]
pub(super) struct Listener {
    listener: TcpListener,
    head: usize,
    /// In the order in which they came.
    silent: Vec<TcpStream>,
}

impl Listener {
    /// Callers begin with `head` bytes.
    pub(super) fn new(listener: TcpListener, head: usize) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self { listener, head, silent: Vec::new() })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What to poll for callers.
    pub(super) fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        let callers = self.silent.iter().map(AsFd::as_fd);
        let all = callers.chain([self.listener.as_fd()]);
        all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
    }

    /// The next caller that has begun, with how it has; None once one of `others` is readable.
    pub(super) fn next(&mut self, others: &[BorrowedFd<'_>]) -> io::Result<Option<(TcpStream, Vec<u8>)>> {
        loop {
            let others = others.iter();
            let others = others.map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN));
            let mut fds: Vec<_> = self.fds().chain(others).collect();
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                result => result?,
            };
            let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
            let own = self.silent.len() + 1;
            if let Some(caller) = self.look(&ready[..own])? {
                return Ok(Some(caller));
            }
            if ready[..own].iter().all(|ready| !ready) {
                return Ok(None);
            }
        }
    }

    /// Takes callers in, of which [`fds`](Self::fds) are `ready`; one that has begun.
    pub(super) fn look(&mut self, ready: &[bool]) -> io::Result<Option<(TcpStream, Vec<u8>)>> {
        if let Some(speaks) = ready[..self.silent.len()].iter().position(|ready| *ready) {
            let mut caller = self.silent.remove(speaks);
            let mut head = vec![0; self.head];
            // All of it is there, or the end of what comes.
            let begun = caller.read_exact(&mut head).is_ok();
            return Ok(begun.then_some((caller, head)));
        }
        if !ready[self.silent.len()] {
            return Ok(None);
        }
        if self.silent.len() == MOST_SILENT {
            self.silent.remove(0);
        }
        while self.silent.len() < MOST_SILENT {
            let caller = match self.listener.accept() {
                Ok((caller, _)) => caller,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => continue,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            // Readable once it has begun, or is gone.
            let is_kept = wake_at(&caller, self.head).is_ok();
            if is_kept && caller.set_nonblocking(true).is_ok() {
                self.silent.push(caller);
            }
        }
        Ok(None)
    }
}

/// Has a socket be readable when so many bytes are there.
fn wake_at(socket: &TcpStream, bytes: usize) -> io::Result<()> {
    let bytes = bytes as libc::c_int;
    // SAFETY: an open socket, and an option of the length given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            (&raw const bytes).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Has a caller that has begun be an ordinary socket.
pub(super) fn take_over(caller: &TcpStream) -> io::Result<()> {
    wake_at(caller, 1)?;
    caller.set_nonblocking(false)
}

//! The connection to a PMI server: bytes, with a deadline.

use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{self, SendFlags};

use crate::Error;

/// Bytes of the longest line of a server; those of the protocol are below 2 KiB.
const LONGEST_LINE: usize = 64 << 10;

/// A connection. It stays open until the process ends: a launcher takes the end of the connection
/// for the end of the process, and an MPI in the same process may use the same descriptor.
#[derive(Debug)]
pub(super) struct Wire {
    file: Arc<ManuallyDrop<File>>,
    deadline: Duration,
    /// Read, but not taken yet.
    read: Vec<u8>,
}

impl Wire {
    /// Takes the descriptor that the launcher left open for this process.
    pub(super) fn inherited(fd: RawFd, deadline: Duration) -> Result<Self, Error> {
        if fd < 0 {
            return Err(Error::ClosedDescriptor(fd));
        }
        // Programs that this process starts must not inherit it.
        // SAFETY: fd is not negative; the call fails where no such descriptor is open.
        let probe = unsafe { BorrowedFd::borrow_raw(fd) };
        if fcntl_setfd(probe, FdFlags::CLOEXEC).is_err() {
            return Err(Error::ClosedDescriptor(fd));
        }
        // SAFETY: the launcher opened the descriptor for this use, and `Wire` never closes it.
        Ok(Self::over(unsafe { OwnedFd::from_raw_fd(fd) }, deadline))
    }

    /// Connects to `host:port`.
    pub(super) fn to_port(address: &str, deadline: Duration) -> Result<Self, Error> {
        let connected = address.to_socket_addrs().and_then(|all| Self::to_first(all, deadline));
        connected.map_err(|e| Error::Unreachable { address: address.to_owned(), reason: e.to_string() })
    }

    /// Connects to the first of these addresses of a server at which it answers: a host may have some that it does not
    /// listen at.
    pub(super) fn to_first(addresses: impl Iterator<Item = SocketAddr>, deadline: Duration) -> io::Result<Self> {
        let mut failed = io::Error::other("the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, deadline) {
                Ok(stream) => {
                    // Requests are short and wait for their answers.
                    stream.set_nodelay(true)?;
                    return Ok(Self::over(stream.into(), deadline));
                }
                Err(e) => failed = e,
            }
        }
        Err(failed)
    }

    /// Over a connection that is there.
    pub(super) fn over(fd: OwnedFd, deadline: Duration) -> Self {
        Self { file: Arc::new(ManuallyDrop::new(fd.into())), deadline, read: Vec::new() }
    }

    /// The same connection for a thread that only sends.
    pub(super) fn sender(&self) -> Sender {
        Sender(self.file.clone())
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            match send(&self.file, rest) {
                Ok(n) => rest = &rest[n..],
                Err(Errno::INTR) => {}
                Err(e) => return Err(Error::ConnectionLost(e.into())),
            }
        }
        Ok(())
    }

    /// Up to and without the next newline.
    pub(super) fn line(&mut self) -> Result<String, Error> {
        let end = Instant::now() + self.deadline;
        loop {
            if let Some(at) = self.read.iter().position(|b| *b == b'\n') {
                let line: Vec<u8> = self.read.drain(..=at).collect();
                return Ok(String::from_utf8_lossy(&line[..at]).into_owned());
            }
            if self.read.len() > LONGEST_LINE {
                let beginning = String::from_utf8_lossy(&self.read[..80]).into_owned();
                return Err(Error::LongResponse { bytes: LONGEST_LINE, beginning });
            }
            self.more(end)?;
        }
    }

    /// The next `n` bytes.
    pub(super) fn bytes(&mut self, n: usize) -> Result<Vec<u8>, Error> {
        let end = Instant::now() + self.deadline;
        while self.read.len() < n {
            self.more(end)?;
        }
        Ok(self.read.drain(..n).collect())
    }

    fn more(&mut self, end: Instant) -> Result<(), Error> {
        let left = end.saturating_duration_since(Instant::now());
        // A time too long for the kernel is no limit.
        let most = Timespec::try_from(left).ok();
        let mut watched = [PollFd::new(&**self.file, PollFlags::IN)];
        match poll(&mut watched, most.as_ref()) {
            Ok(0) => {
                return Err(Error::Timeout { launcher: "the launcher".to_owned(), deadline: self.deadline });
            }
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(()),
            Err(e) => return Err(Error::ConnectionLost(e.into())),
        }
        let mut some = [0; 4096];
        match (&**self.file).read(&mut some) {
            Ok(0) => Err(Error::ConnectionLost(io::ErrorKind::ConnectionReset.into())),
            Ok(n) => {
                self.read.extend(&some[..n]);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(Error::ConnectionLost(e)),
        }
    }
}

/// The sending half of a [`Wire`].
#[derive(Debug)]
pub(super) struct Sender(Arc<ManuallyDrop<File>>);

impl Sender {
    /// In one write, so that it does not mix with what another thread sends. Whether it arrives
    /// is not known: the launcher may be gone.
    pub(super) fn send(&self, bytes: &[u8]) {
        let _ = send(&self.0, bytes);
    }
}

/// Without the signal by which a closed connection would end the process.
fn send(file: &File, bytes: &[u8]) -> rustix::io::Result<usize> {
    net::send(file, bytes, SendFlags::NOSIGNAL)
}

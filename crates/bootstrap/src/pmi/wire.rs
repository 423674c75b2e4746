//! The connection to a PMI server: bytes, with a deadline.

use std::fs::File;
use std::io::{self, Read};
use std::mem::ManuallyDrop;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{self, MsgFlags};

use crate::Error;

/// A connection. It stays open until the process ends: a launcher takes its end for the
/// process's, and an MPI in the same process may use the same descriptor.
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
        // Programs that this process starts are not this process.
        // SAFETY: fcntl on any number is harmless; it fails if no such descriptor is open.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) } != 0 {
            return Err(Error::new(format!(
                "the launcher set PMI_FD={fd}, but this descriptor is closed: have the launcher start the program itself, not a program that closes descriptors"
            )));
        }
        // SAFETY: the launcher opened it for this use, and it is never closed.
        Ok(Self::over(unsafe { OwnedFd::from_raw_fd(fd) }, deadline))
    }

    /// Connects to `host:port`.
    pub(super) fn to_port(address: &str, deadline: Duration) -> Result<Self, Error> {
        let failed = |why: String| {
            Error::new(format!(
                "the launcher set PMI_PORT={address}, where nobody answers: {why}"
            ))
        };
        let mut places = address
            .to_socket_addrs()
            .map_err(|e| failed(e.to_string()))?;
        let place = places
            .next()
            .ok_or_else(|| failed("the name has no address".into()))?;
        let stream =
            TcpStream::connect_timeout(&place, deadline).map_err(|e| failed(e.to_string()))?;
        // Requests are short and wait for their answers.
        stream
            .set_nodelay(true)
            .map_err(|e| failed(e.to_string()))?;
        Ok(Self::over(stream.into(), deadline))
    }

    /// Over a connection that is there.
    pub(super) fn over(fd: OwnedFd, deadline: Duration) -> Self {
        Self {
            file: Arc::new(ManuallyDrop::new(fd.into())),
            deadline,
            read: Vec::new(),
        }
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
                Err(nix::Error::EINTR) => {}
                Err(e) => return Err(gone(e.into())),
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
        let most = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(
            &mut [PollFd::new(self.file.as_fd(), PollFlags::POLLIN)],
            most,
        ) {
            Ok(0) => {
                return Err(Error::new(format!(
                    "the launcher gave no answer within {} s: it hangs, or a process of the job did not come this far",
                    self.deadline.as_secs_f32()
                )));
            }
            Ok(_) => {}
            Err(nix::Error::EINTR) => return Ok(()),
            Err(e) => return Err(gone(e.into())),
        }
        let mut some = [0; 4096];
        match (&**self.file).read(&mut some) {
            Ok(0) => Err(gone(io::ErrorKind::ConnectionReset.into())),
            Ok(n) => {
                self.read.extend(&some[..n]);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(e) => Err(gone(e)),
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

/// Without the signal by which a connection that is closed would end the process.
fn send(file: &File, bytes: &[u8]) -> nix::Result<usize> {
    socket::send(file.as_raw_fd(), bytes, MsgFlags::MSG_NOSIGNAL)
}

fn gone(e: io::Error) -> Error {
    Error::new(format!("the connection to the launcher is lost: {e}"))
}

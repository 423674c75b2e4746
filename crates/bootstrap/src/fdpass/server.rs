//! The side that has the descriptors.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{MAX_DESCRIPTORS, REQUEST, Request, is_same_user, reply};
use crate::Error;
use crate::secret::{self, Secret, same};

/// Connections beyond those of the processes expected that may be open at a time; with more, the
/// oldest is dropped. A process of the job whose connection is dropped tries again.
const SPARE_CONNECTIONS: usize = 64;

/// A socket under a random name at which descriptors will be given away.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    name: [u8; 24],
}

/// A connection whose request has not been read completely.
struct Connection {
    stream: UnixStream,
    request: [u8; REQUEST],
    /// Bytes of the request that have been read.
    len: usize,
}

impl Server {
    /// Opens the socket. From here on processes can connect; [`serve`](Self::serve) serves them.
    ///
    /// # Errors
    /// If the system gives no socket or no random numbers.
    pub fn open() -> Result<Self, Error> {
        let mut random = [0; 12];
        secret::random(&mut random)?;
        let mut name = [0; 24];
        for (pair, byte) in name.chunks_exact_mut(2).zip(random) {
            let digit = |d: u8| b"0123456789abcdef"[usize::from(d)];
            pair.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        let address = SocketAddr::from_abstract_name(name).map_err(Error::Socket)?;
        let listener = UnixListener::bind_addr(&address).map_err(Error::Socket)?;
        listener.set_nonblocking(true).map_err(Error::Socket)?;
        Ok(Self { listener, name })
    }

    /// The socket's name, which the other processes of the node need.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Gives `files` to the processes of these ranks, in whatever order they connect, and closes
    /// the socket.
    ///
    /// # Errors
    /// If some have not connected within `deadline`: it names them.
    ///
    /// # Panics
    /// With no files, or more than 253.
    pub fn serve(
        self,
        secret: &Secret,
        ranks: &[usize],
        files: &[BorrowedFd<'_>],
        deadline: Duration,
    ) -> Result<(), Error> {
        assert!((1..=MAX_DESCRIPTORS).contains(&files.len()), "{} files", files.len());
        let end = Instant::now() + deadline;
        let mut awaited = ranks.to_vec();
        let limit = awaited.len() + SPARE_CONNECTIONS;
        let mut connections: Vec<Connection> = Vec::new();
        while !awaited.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Error::Absent { ranks: awaited, deadline });
            }
            let (new, readable) = self.wait(&connections, left)?;
            // Before the new connection, so that a request that has arrived is never dropped for it.
            let mut readable = readable.into_iter();
            connections.retain_mut(|connection| {
                !readable.next().unwrap_or(false)
                    || connection.read(secret, &mut awaited, files) == Progress::Incomplete
            });
            if new && let Some(stream) = self.accept() {
                if connections.len() == limit {
                    connections.remove(0);
                }
                connections.push(Connection { stream, request: [0; REQUEST], len: 0 });
            }
        }
        Ok(())
    }

    /// Whether there is a new connection, and which of `connections` can be read or are closed.
    fn wait(&self, connections: &[Connection], most: Duration) -> Result<(bool, Vec<bool>), Error> {
        let mut watched = vec![PollFd::new(&self.listener, PollFlags::IN)];
        let streams = connections.iter().map(|c| c.stream.as_fd());
        watched.extend(streams.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // A time too long for the kernel is no limit.
        match poll(&mut watched, Timespec::try_from(most).ok().as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(Error::Wait(e.into())),
        }
        let mut ready = watched.iter().map(|w| !w.revents().is_empty());
        let new = ready.next().unwrap_or(false);
        Ok((new, ready.collect()))
    }

    /// A connection of this user, if there is one.
    fn accept(&self) -> Option<UnixStream> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        is_same_user(&stream).ok()?.then_some(stream)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Incomplete,
    /// Served, or of a process that does not belong to the job.
    Over,
}

impl Connection {
    /// Reads what has arrived of the request; gives the files to an awaited process once its
    /// request is complete.
    fn read(&mut self, secret: &Secret, awaited: &mut Vec<usize>, files: &[BorrowedFd<'_>]) -> Progress {
        match self.stream.read(&mut self.request[self.len..]) {
            Ok(n) if n > 0 => self.len += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Progress::Incomplete,
            _ => return Progress::Over,
        }
        if self.len < REQUEST {
            return Progress::Incomplete;
        }
        let is_of = |rank| same(&self.request, Request::new(secret, rank).as_bytes());
        if let Some(rank) = awaited.iter().copied().find(|rank| is_of(*rank))
            && self.give(&reply(secret, rank), files).is_ok()
        {
            awaited.retain(|other| *other != rank);
        }
        Progress::Over
    }

    fn give(&self, reply: &[u8], files: &[BorrowedFd<'_>]) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        // `serve` has checked that there are not too many.
        control.push(SendAncillaryMessage::ScmRights(files));
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.stream, &[IoSlice::new(reply)], &mut control, flags)
    }
}

//! The side that has the descriptors.

use std::collections::BTreeSet;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};

use super::{MOST, REQUEST, is_my_user, reply, request};
use crate::Error;
use crate::secret::{self, Secret};

/// Strangers that may wait at a time, beyond the processes expected; of more, who has waited
/// longest is dropped. A process of the job that this hits tries again.
const STRANGERS: usize = 64;

/// A socket under a random name at which descriptors will be given away.
#[derive(Debug)]
pub struct Server {
    listener: UnixListener,
    name: [u8; 24],
}

/// Somebody who has not said yet what makes him one of the job.
struct Visitor {
    stream: UnixStream,
    said: [u8; REQUEST],
    len: usize,
}

impl Server {
    /// Opens the socket. From here on others can connect; they are served by
    /// [`serve`](Self::serve).
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
        let failed = |e: io::Error| {
            Error::new(format!(
                "cannot open the socket by which PEs of this node get their memory: {e}"
            ))
        };
        let address = SocketAddr::from_abstract_name(name).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        Ok(Self { listener, name })
    }

    /// The socket's name, to be told to the others of the node.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Gives `files` to the processes of these ranks, whatever order they come in, and closes
    /// the socket.
    ///
    /// # Errors
    /// If some have not come within `deadline`: it says which.
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
        assert!((1..=MOST).contains(&files.len()), "{} files", files.len());
        let end = Instant::now() + deadline;
        let fds: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
        let mut awaited: BTreeSet<usize> = ranks.iter().copied().collect();
        let limit = awaited.len() + STRANGERS;
        let mut visitors: Vec<Visitor> = Vec::new();
        while !awaited.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(absent(&awaited, deadline));
            }
            let (new, heard) = self.wait(&visitors, left)?;
            // Before newcomers: who has spoken is not dropped for one who may never speak.
            let mut number = 0;
            visitors.retain_mut(|visitor| {
                number += 1;
                !heard[number - 1]
                    || visitor.listen(secret, &mut awaited, &fds) == Progress::Incomplete
            });
            if new && let Some(stream) = self.accept() {
                if visitors.len() == limit {
                    visitors.remove(0);
                }
                visitors.push(Visitor {
                    stream,
                    said: [0; REQUEST],
                    len: 0,
                });
            }
        }
        Ok(())
    }

    /// Whether there is a new visitor, and which of `visitors` have said something or left.
    fn wait(&self, visitors: &[Visitor], most: Duration) -> Result<(bool, Vec<bool>), Error> {
        let mut watched = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        let of_visitors = visitors.iter().map(|v| v.stream.as_fd());
        watched.extend(of_visitors.map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        // A millisecond more than is left: rounded down, the last one would be spun through.
        let most = PollTimeout::try_from(most + Duration::from_millis(1));
        match poll(&mut watched, most.unwrap_or(PollTimeout::MAX)) {
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(e) => {
                return Err(Error::new(format!(
                    "cannot wait for the PEs of this node: {e}"
                )));
            }
        }
        let mut ready = watched.iter().map(|w| w.any().unwrap_or(true));
        let new = ready.next().unwrap_or(false);
        Ok((new, ready.collect()))
    }

    /// Somebody of this user, if there is one.
    fn accept(&self) -> Option<UnixStream> {
        let (stream, _) = self.listener.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        is_my_user(&stream).ok()?.then_some(stream)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Incomplete,
    /// Served, or a stranger.
    Over,
}

impl Visitor {
    /// Hears what the visitor has said so far; gives the files to one who has said all and
    /// the right thing.
    fn listen(
        &mut self,
        secret: &Secret,
        awaited: &mut BTreeSet<usize>,
        fds: &[RawFd],
    ) -> Progress {
        match self.stream.read(&mut self.said[self.len..]) {
            Ok(n) if n > 0 => self.len += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Progress::Incomplete,
            _ => return Progress::Over,
        }
        if self.len < REQUEST {
            return Progress::Incomplete;
        }
        let known = awaited
            .iter()
            .copied()
            .find(|&rank| same(&self.said, &request(secret, rank)));
        if let Some(rank) = known
            && self.give(&reply(secret, rank), fds).is_ok()
        {
            awaited.remove(&rank);
        }
        Progress::Over
    }

    fn give(&self, reply: &[u8], fds: &[RawFd]) -> nix::Result<usize> {
        sendmsg::<()>(
            self.stream.as_raw_fd(),
            &[IoSlice::new(reply)],
            &[ControlMessage::ScmRights(fds)],
            MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT,
            None,
        )
    }
}

/// Compares in a time that does not tell where the first difference is.
fn same(a: &[u8; REQUEST], b: &[u8; REQUEST]) -> bool {
    a.iter().zip(b).fold(0, |diff, (x, y)| diff | (x ^ y)) == 0
}

fn absent(ranks: &BTreeSet<usize>, deadline: Duration) -> Error {
    let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
    let (noun, have) = match ranks.len() {
        1 => ("PE", "has"),
        _ => ("PEs", "have"),
    };
    Error::new(format!(
        "{noun} {} of this node {have} not come for the node's memory within {} s",
        list.join(", "),
        deadline.as_secs_f32()
    ))
}

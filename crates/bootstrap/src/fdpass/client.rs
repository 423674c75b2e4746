//! The side that receives the descriptors.

use std::io::{IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketAddrUnix, SocketFlags, SocketType,
    connect, recvmsg, socket_with,
};

use super::{MAX_DESCRIPTORS, Request, TOKEN, is_same_user, reply};
use crate::Error;
use crate::secret::Secret;

/// Why there are no descriptors yet.
enum Refusal {
    /// The server is busy, or dropped this connection for another: try again.
    Later,
    /// The server will not give any, for this reason.
    Final(String),
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        Self::Final(error.to_string())
    }
}

/// Receives the descriptors that the server of this name gives away, as the process `rank` of the
/// job. They are closed on exec.
///
/// # Errors
/// If nothing came within `deadline`, the server is gone or is not of this job, or gives another
/// number of descriptors than `count`.
pub fn fetch(
    name: &[u8],
    secret: &Secret,
    rank: usize,
    count: usize,
    deadline: Duration,
) -> Result<Vec<OwnedFd>, Error> {
    let end = Instant::now() + deadline;
    let failed = |reason: String| Error::NoDescriptors { rank, reason };
    loop {
        match attempt(name, secret, rank, end) {
            Ok(files) if files.len() == count => return Ok(files),
            Ok(files) => {
                let n = files.len();
                return Err(failed(format!("{n} descriptors instead of {count}")));
            }
            Err(Refusal::Final(reason)) => return Err(failed(reason)),
            Err(Refusal::Later) if Instant::now() >= end => {
                return Err(failed(format!("no answer within {deadline:?}")));
            }
            Err(Refusal::Later) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn attempt(name: &[u8], secret: &Secret, rank: usize, end: Instant) -> Result<Vec<OwnedFd>, Refusal> {
    let mut stream = connected(name)?;
    if !is_same_user(&stream).map_err(|e| Refusal::Final(e.to_string()))? {
        let reason = "the process at its socket is another user's";
        return Err(Refusal::Final(reason.into()));
    }
    // A new socket has room for so few bytes; an error means that the server has closed it.
    stream.write_all(Request::new(secret, rank).as_bytes()).map_err(|_| Refusal::Later)?;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        // A time too long for the kernel is no limit.
        let most = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(&stream, PollFlags::IN)], most.as_ref()) {
            Ok(0) => return Err(Refusal::Later),
            Ok(_) => break,
            // The server gives once, and may be about to.
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
    let (message, files) = receive(&stream)?;
    if message.is_empty() {
        return Err(Refusal::Later);
    }
    if message != reply(secret, rank) {
        let reason = "the process at its socket does not know the job's secret";
        return Err(Refusal::Final(reason.into()));
    }
    Ok(files)
}

/// A connection, which never blocks: not even while the server's queue is full.
fn connected(name: &[u8]) -> Result<UnixStream, Refusal> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let address = SocketAddrUnix::new_abstract_name(name)?;
    match connect(&socket, &address) {
        Ok(()) => Ok(socket.into()),
        Err(Errno::AGAIN | Errno::INTR) => Err(Refusal::Later),
        Err(Errno::CONNREFUSED) => Err(Refusal::Final("it is gone".into())),
        Err(e) => Err(e.into()),
    }
}

/// A message, empty if the connection was closed, and the descriptors that came with it.
fn receive(stream: &UnixStream) -> Result<(Vec<u8>, Vec<OwnedFd>), Refusal> {
    let mut bytes = [0; TOKEN];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let len = match recvmsg(stream, &mut parts, &mut control, flags) {
        Ok(message) => message.bytes,
        Err(Errno::AGAIN | Errno::INTR | Errno::CONNRESET) => return Err(Refusal::Later),
        Err(e) => return Err(e.into()),
    };
    let mut files = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            files.extend(descriptors);
        }
    }
    Ok((bytes[..len].to_vec(), files))
}

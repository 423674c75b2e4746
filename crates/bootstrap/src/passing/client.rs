//! The side that is given descriptors.

use std::io::{IoSliceMut, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr, connect, recvmsg,
    socket,
};

use super::{MOST, TOKEN, is_my_user, reply, request};
use crate::Error;
use crate::secret::Secret;

/// Why there are no descriptors yet.
enum Refusal {
    /// The server is busy, or made room: try again.
    Later,
    /// Never.
    Final(String),
}

/// Gets the descriptors that the server of this name gives away, as the process `rank` of the
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
    let failed = |why: &str| {
        Error::new(format!(
            "PE {rank} cannot get its node's memory from the first PE of the node: {why}"
        ))
    };
    loop {
        match attempt(name, secret, rank, end) {
            Ok(files) if files.len() == count => return Ok(files),
            Ok(files) => {
                let n = files.len();
                return Err(failed(&format!("{n} descriptors instead of {count}")));
            }
            Err(Refusal::Final(why)) => return Err(failed(&why)),
            Err(Refusal::Later) if Instant::now() >= end => {
                let seconds = deadline.as_secs_f32();
                return Err(failed(&format!("no answer within {seconds} s")));
            }
            Err(Refusal::Later) => thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn attempt(
    name: &[u8],
    secret: &Secret,
    rank: usize,
    end: Instant,
) -> Result<Vec<OwnedFd>, Refusal> {
    let mut stream = reach(name)?;
    let mine = is_my_user(&stream).map_err(|e| Refusal::Final(e.to_string()))?;
    if !mine {
        let why = "the process at its socket is another user's";
        return Err(Refusal::Final(why.into()));
    }
    // A new socket has room for so few bytes; an error means that the server has closed it.
    stream
        .write_all(&request(secret, rank))
        .map_err(|_| Refusal::Later)?;
    let left = end.saturating_duration_since(Instant::now());
    let most = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
    match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], most) {
        Ok(0) | Err(Errno::EINTR) => return Err(Refusal::Later),
        Ok(_) => {}
        Err(e) => return Err(Refusal::Final(e.to_string())),
    }
    let (said, files) = receive(&stream)?;
    if said.is_empty() {
        return Err(Refusal::Later);
    }
    if said != reply(secret, rank) {
        let why = "the process at its socket does not know the job's secret";
        return Err(Refusal::Final(why.into()));
    }
    Ok(files)
}

/// A connection, which never blocks: not either while the server's queue is full.
fn reach(name: &[u8]) -> Result<UnixStream, Refusal> {
    let fatal = |e: Errno| Refusal::Final(e.to_string());
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None).map_err(fatal)?;
    let address = UnixAddr::new_abstract(name).map_err(fatal)?;
    match connect(socket.as_raw_fd(), &address) {
        Ok(()) => Ok(socket.into()),
        Err(Errno::EAGAIN | Errno::EINTR) => Err(Refusal::Later),
        Err(Errno::ECONNREFUSED) => Err(Refusal::Final("it is gone".into())),
        Err(e) => Err(fatal(e)),
    }
}

/// A message, empty if the connection was closed, and the descriptors that came with it.
fn receive(stream: &UnixStream) -> Result<(Vec<u8>, Vec<OwnedFd>), Refusal> {
    let mut said = [0; TOKEN];
    let mut parts = [IoSliceMut::new(&mut said)];
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; MOST]);
    let flags = MsgFlags::MSG_CMSG_CLOEXEC | MsgFlags::MSG_DONTWAIT;
    let got = recvmsg::<()>(stream.as_raw_fd(), &mut parts, Some(&mut space), flags);
    let message = match got {
        Ok(message) => message,
        Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNRESET) => return Err(Refusal::Later),
        Err(e) => return Err(Refusal::Final(e.to_string())),
    };
    let mut files = Vec::new();
    let control = message.cmsgs().map_err(|e| Refusal::Final(e.to_string()))?;
    for part in control {
        if let ControlMessageOwned::ScmRights(fds) = part {
            // SAFETY: the kernel just made these descriptors for this message; nobody else
            // owns them.
            files.extend(fds.iter().map(|&fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    let len = message.bytes;
    Ok((said[..len].to_vec(), files))
}

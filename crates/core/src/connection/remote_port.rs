//! Ports for jobs on other nodes: the same four messages over TCP, of which the second invites the other side's members to
//! a hub ([`super::link`]).
//!
//! The kernel does not say of which user a process on another host is: so the secret in the port's text is all that counts.
//! Without it, a caller gets no answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::link::Invitation;
use super::lobby::take_over;
use super::port::{DONE, HELLO, PortError, READY, REFUSED, WELCOME, same};
use crate::job::region::VERSION;

/// Digits of a secret.
pub(super) const SECRET: usize = 32;
/// Room for the digest of the library's sources.
const SOURCES: usize = 64;
/// Bytes of a `HELLO`: three numbers, the secret, the digest.
pub(super) const HELLO_BYTES: usize = 3 * size_of::<u32>() + SECRET + SOURCES;
/// Most bytes of an answer.
const MOST_BYTES: usize = 4096;
/// Time for the other side to read or write a message, once it has begun.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The digest of the sources by which PEs of this library reach those of other nodes.
fn sources() -> [u8; SOURCES] {
    let digest = ferroshmem_fabric::SOURCES.as_bytes();
    std::array::from_fn(|i| digest.get(i).copied().unwrap_or(0))
}

/// Bytes of an answer, behind its kind.
fn send(mut socket: &TcpStream, kind: u32, body: &[u8]) -> io::Result<()> {
    let mut bytes = kind.to_le_bytes().to_vec();
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    socket.write_all(&bytes)
}

fn receive(mut socket: &TcpStream) -> io::Result<(u32, Vec<u8>)> {
    let mut head = [0; 2 * size_of::<u32>()];
    socket.read_exact(&mut head)?;
    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| head[4 * i + b]));
    let len = word(1) as usize;
    if len > MOST_BYTES {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; len];
    socket.read_exact(&mut body)?;
    Ok((word(0), body))
}

/// A job of another node at the port that is to be accepted.
#[derive(Debug)]
pub(crate) struct RemoteCaller {
    /// PEs that connect.
    pub members: usize,
    socket: TcpStream,
}

impl RemoteCaller {
    /// A caller that begins with `hello`; None if it does not know the secret, or is refused.
    pub(super) fn hear(socket: TcpStream, hello: &[u8], secret: &str) -> Option<Self> {
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| hello[4 * i + b]));
        let (given, digest) = hello[3 * size_of::<u32>()..].split_at(SECRET);
        let given = std::str::from_utf8(given).ok()?;
        if word(0) != HELLO || !same(given, secret) {
            return None;
        }
        take_over(&socket).ok()?;
        socket.set_write_timeout(Some(TIME_LIMIT)).ok()?;
        socket.set_read_timeout(Some(TIME_LIMIT)).ok()?;
        let caller = Self {
            members: word(2) as usize,
            socket,
        };
        match word(1) == VERSION && digest == sources() {
            true => Some(caller),
            false => caller.refuse("its FerroSHMEM is another build: install one for all hosts"),
        }
    }

    /// Refuses it, for this reason; nothing.
    pub(crate) fn refuse<T>(self, reason: &str) -> Option<T> {
        let _ = send(&self.socket, REFUSED, reason.as_bytes());
        None
    }

    /// Invites the other side; whether it is ready to be connected.
    pub(crate) fn offer(&self, invitation: &Invitation) -> bool {
        let mut body = invitation.number.to_le_bytes().to_vec();
        body.extend(invitation.to_words().iter().flat_map(|w| w.to_le_bytes()));
        send(&self.socket, WELCOME, &body).is_ok()
            && matches!(receive(&self.socket), Ok((READY, _)))
    }

    /// Says that the jobs are connected. The socket, which lives as long as the other side's root until all members have met.
    pub(crate) fn done(self) -> io::Result<TcpStream> {
        // If it is gone, the hub notices.
        let _ = send(&self.socket, DONE, &[]);
        self.socket.set_read_timeout(None)?;
        Ok(self.socket)
    }
}

/// What the side that accepts offers.
#[derive(Debug)]
pub(crate) struct RemoteOffer {
    pub invitation: Invitation,
    socket: TcpStream,
}

impl RemoteOffer {
    /// Waits at the port at this address, which has this secret, for an offer to `members` PEs.
    pub(crate) fn wait(
        address: SocketAddr,
        secret: &str,
        members: usize,
    ) -> Result<Self, PortError> {
        let mut socket = match TcpStream::connect_timeout(&address, TIME_LIMIT) {
            Ok(socket) => socket,
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Err(PortError::Closed),
            Err(e) => return Err(PortError::Unreachable(address, e)),
        };
        // The other host may be gone while this job waits.
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        rustix::net::sockopt::set_tcp_keepidle(&socket, TIME_LIMIT)?;
        let mut hello = Vec::with_capacity(HELLO_BYTES);
        for word in [HELLO, VERSION, members as u32] {
            hello.extend(word.to_le_bytes());
        }
        hello.extend(secret.as_bytes());
        hello.extend(sources());
        let answer = socket
            .write_all(&hello)
            .and_then(|()| receive(&socket))
            .map_err(|_| PortError::Closed)?;
        let words = answer.1.split_first_chunk().map(|(number, words)| {
            let word = |i: usize| words[8 * i..8 * i + 8].try_into().ok();
            (number, words.len(), move |i| {
                word(i).map_or(0, u64::from_le_bytes)
            })
        });
        match (answer.0, words) {
            (WELCOME, Some((number, len, word))) if len == 8 * Invitation::WORDS => Ok(Self {
                invitation: Invitation::from_words(
                    u32::from_le_bytes(*number),
                    std::array::from_fn(word),
                ),
                socket,
            }),
            (REFUSED, _) => Err(PortError::Refused(
                String::from_utf8_lossy(&answer.1).into_owned(),
            )),
            _ => Err(PortError::Refused("it answers in another way".to_owned())),
        }
    }

    /// Takes the offer up. The socket, which the other side reads as this one's sign of life until all members have met.
    pub(crate) fn take(self) -> Result<TcpStream, PortError> {
        let sent = send(&self.socket, READY, &[]);
        match sent.and_then(|()| receive(&self.socket)) {
            Ok((DONE, _)) => Ok(self.socket),
            _ => Err(PortError::Closed),
        }
    }
}

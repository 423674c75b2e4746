//! Ports for jobs on other nodes: the same four messages over TCP, of which the second invites the other group's
//! members to a coordinator ([`super::coordinator`]).
//!
//! The kernel does not say of which user a process on another host is: so the secret in the port's text is all that
//! counts. Without it, a caller gets no answer.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ferroshmem_bootstrap::secret::same;

use super::handshake::{CONNECT, DONE, INDEPENDENT, READY, REFUSED, WELCOME};
use super::listener::take_over;
use super::port_error::PortError;
use ferroshmem_core::connection::invitation::Invitation;
use ferroshmem_core::sources::digests;
use ferroshmem_layout::VERSION;

/// Digits of a secret.
pub(super) const SECRET: usize = 32;
/// Room for the digests of the library's sources.
const SOURCES: usize = 6 * DIGEST;
/// Digits of a digest.
const DIGEST: usize = 16;
/// Bytes of a `CONNECT`: three numbers, the secret, the digest.
pub(super) const HELLO_BYTES: usize = 3 * size_of::<u32>() + SECRET + SOURCES;
/// Most bytes of an answer.
const MOST_BYTES: usize = 4096;
/// Time for the other group to read or write a message, once it has begun.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// The digests of the sources by which PEs of this library reach those of other nodes.
fn sources() -> [u8; SOURCES] {
    let mut all = [0; SOURCES];
    for (room, digest) in all.chunks_exact_mut(DIGEST).zip(digests()) {
        let len = digest.len().min(room.len());
        room[..len].copy_from_slice(&digest.as_bytes()[..len]);
    }
    all
}

/// What a job that connects says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConnectRequest {
    version: u32,
    members: u32,
    independent: bool,
    secret: [u8; SECRET],
    sources: [u8; SOURCES],
}

impl ConnectRequest {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let kind = if self.independent { INDEPENDENT } else { 0 };
        let words = [CONNECT, self.version, self.members | kind];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(self.secret).chain(self.sources).collect()
    }

    /// From [`to_bytes`](Self::to_bytes); None of a stranger.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HELLO_BYTES] = bytes.try_into().ok()?;
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b]));
        let strings = &bytes[3 * size_of::<u32>()..];
        let this = Self {
            version: word(1),
            members: word(2) & !INDEPENDENT,
            independent: word(2) & INDEPENDENT != 0,
            secret: std::array::from_fn(|i| strings[i]),
            sources: std::array::from_fn(|i| strings[SECRET + i]),
        };
        (word(0) == CONNECT).then_some(this)
    }
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
pub struct RemoteCaller {
    /// PEs that connect.
    pub members: usize,
    /// Whether the jobs are to end independently.
    pub independent: bool,
    socket: TcpStream,
}

impl RemoteCaller {
    /// A caller that begins with `connect_request`; None if it does not know the secret, or is refused.
    pub(super) fn from_request(socket: TcpStream, connect_request: &[u8], secret: &str) -> Option<Self> {
        let connect_request = ConnectRequest::from_bytes(connect_request)?;
        if !same(&connect_request.secret, secret.as_bytes()) {
            return None;
        }
        take_over(&socket).ok()?;
        socket.set_write_timeout(Some(TIME_LIMIT)).ok()?;
        socket.set_read_timeout(Some(TIME_LIMIT)).ok()?;
        let caller =
            Self { members: connect_request.members as usize, independent: connect_request.independent, socket };
        match connect_request.version == VERSION && connect_request.sources == sources() {
            true => Some(caller),
            false => caller.refuse("its FerroSHMEM is another build: install one for all hosts"),
        }
    }

    /// Refuses it, for this reason; nothing.
    pub fn refuse<T>(self, reason: &str) -> Option<T> {
        let _ = send(&self.socket, REFUSED, reason.as_bytes());
        None
    }

    /// Invites the other group; whether it is ready to be connected.
    pub fn offer(&self, invitation: &Invitation) -> bool {
        send(&self.socket, WELCOME, &invitation.to_bytes()).is_ok() && matches!(receive(&self.socket), Ok((READY, _)))
    }

    /// Says that the jobs are connected. The socket, which lives as long as the other group's root until all members
    /// have joined.
    pub fn done(self) -> io::Result<TcpStream> {
        // If it is gone, the coordinator notices.
        let _ = send(&self.socket, DONE, &[]);
        self.socket.set_read_timeout(None)?;
        Ok(self.socket)
    }
}

/// What the group that accepts offers.
#[derive(Debug)]
pub struct RemoteOffer {
    /// What the accepting PEs need in order to connect.
    pub invitation: Invitation,
    socket: TcpStream,
}

impl RemoteOffer {
    /// Waits at the port at this address, which has this secret, for an offer to `members` PEs, `independent` of the
    /// other group or not.
    pub fn wait((address, secret): (SocketAddr, &str), members: usize, independent: bool) -> Result<Self, PortError> {
        let mut socket = match TcpStream::connect_timeout(&address, TIME_LIMIT) {
            Ok(socket) => socket,
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => return Err(PortError::Closed),
            Err(e) => return Err(PortError::Unreachable(address, e)),
        };
        // The other host may be gone while this job waits.
        rustix::net::sockopt::set_socket_keepalive(&socket, true)?;
        rustix::net::sockopt::set_tcp_keepidle(&socket, TIME_LIMIT)?;
        let connect_request = ConnectRequest {
            version: VERSION,
            members: members as u32,
            independent,
            // The text of a port has been read: its secret has as many digits.
            secret: secret.as_bytes().try_into().map_err(|_| PortError::Closed)?,
            sources: sources(),
        };
        let answer = socket
            .write_all(&connect_request.to_bytes())
            .and_then(|()| receive(&socket))
            .map_err(|_| PortError::Closed)?;
        match (answer.0, Invitation::from_bytes(&answer.1)) {
            (WELCOME, Some(invitation)) => Ok(Self { invitation, socket }),
            (REFUSED, _) => Err(PortError::Refused(String::from_utf8_lossy(&answer.1).into_owned())),
            _ => Err(PortError::Refused("it answers in another way".to_owned())),
        }
    }

    /// Takes the offer up. The socket, which the other group reads as this one's sign of life until all members have
    /// joined.
    pub fn take(self) -> Result<TcpStream, PortError> {
        let sent = send(&self.socket, READY, &[]);
        match sent.and_then(|()| receive(&self.socket)) {
            Ok((DONE, _)) => Ok(self.socket),
            _ => Err(PortError::Closed),
        }
    }
}

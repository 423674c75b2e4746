//! Handing descriptors of memory from the lowest rank of a node to the others of the node.
//!
//! The server's socket has a random name without a path, so there is no file to be left behind
//! or to have permissions; whoever finds the name out is let in by two things only: he is the
//! same user by the kernel's word (`SO_PEERCRED`), and his first message is the token which the
//! job's secret gives for his rank. The other side checks the same of the server. Whoever else
//! comes is dropped, and whoever is silent waits beside the others, not before them.

mod client;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use crate::secret::Secret;

pub use client::fetch;
pub use server::Server;

/// Bytes of a token.
const TOKEN: usize = 16;
/// Bytes of a client's one message: its rank, 8 bytes little-endian, and its token.
const REQUEST: usize = 8 + TOKEN;
/// The most descriptors that the kernel takes in one message (`SCM_MAX_FD`).
const MOST: usize = 253;

/// What the process of this rank says to be given descriptors.
fn request(secret: &Secret, rank: usize) -> [u8; REQUEST] {
    let mut message = [0; REQUEST];
    let (number, token) = message.split_at_mut(8);
    number.copy_from_slice(&(rank as u64).to_le_bytes());
    token.copy_from_slice(&secret.long_token("descriptors wanted", rank as u64));
    message
}

/// What the server says along with the descriptors.
fn reply(secret: &Secret, rank: usize) -> [u8; TOKEN] {
    secret.long_token("descriptors given", rank as u64)
}

/// Whether the process at the other end is this process's user, by the kernel's word.
fn is_my_user(stream: &UnixStream) -> io::Result<bool> {
    let peer = getsockopt(&stream.as_fd(), PeerCredentials)?;
    Ok(peer.uid() == nix::unistd::geteuid().as_raw())
}

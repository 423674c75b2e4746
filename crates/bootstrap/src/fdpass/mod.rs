//! Descriptor passing: the lowest rank of a node gives descriptors of memory to the other ranks of
//! the node.
//!
//! The server's socket has a random name without a path, so there is no file to be left behind or
//! to have permissions. A process that finds the name out must pass two tests: it is of the same
//! user by the kernel's word (`SO_PEERCRED`), and its first message is the token that the job's
//! secret gives for its rank. The client tests the server in the same way. The server drops every
//! other connection, and a silent one does not keep it from serving the rest.

mod client;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::os::unix::net::UnixStream;

use bytemuck::{NoUninit, bytes_of};
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;

use crate::secret::Secret;

pub use client::fetch;
pub use server::Server;

/// Bytes of a token.
const TOKEN: usize = 16;
/// Bytes of a client's one message.
const REQUEST: usize = size_of::<Request>();
/// The most descriptors that the kernel takes in one message (`SCM_MAX_FD`).
const MAX_DESCRIPTORS: usize = 253;

/// A client's one message.
#[derive(Clone, Copy, NoUninit)]
#[repr(C)]
struct Request {
    rank: u64,
    token: [u8; TOKEN],
}

impl Request {
    /// By which the process of this rank asks for descriptors.
    fn new(secret: &Secret, rank: usize) -> Self {
        Self { rank: rank as u64, token: secret.long_token("descriptors wanted", rank as u64) }
    }

    fn as_bytes(&self) -> &[u8] {
        bytes_of(self)
    }
}

/// The message that comes with the descriptors.
fn reply(secret: &Secret, rank: usize) -> [u8; TOKEN] {
    secret.long_token("descriptors given", rank as u64)
}

/// Whether the process at the other end is of this process's user, by the kernel's word.
fn is_same_user(stream: &UnixStream) -> io::Result<bool> {
    Ok(socket_peercred(stream)?.uid == geteuid())
}

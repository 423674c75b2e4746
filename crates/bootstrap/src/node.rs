//! Which processes share a node, by comparing the descriptions that they give of it: each launcher
//! numbers nodes in a way of its own, or not at all.

use std::fs;
use std::os::unix::fs::MetadataExt;

use bytemuck::{Pod, Zeroable};
use rustix::process::geteuid;
use rustix::system::uname;

use crate::Error;

/// What an identity begins with as bytes; the boot id and the host's name follow.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    device: u64,
    inode: u64,
    user: u32,
    boot_len: u32,
}

/// Where a process runs. Equal identities can share memory and reach each other's sockets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    host: String,
    /// Random, made by the kernel when it starts: distinguishes hosts of the same name.
    boot: String,
    /// Device and inode of the network namespace, in which abstract sockets have their names:
    /// containers of one host that do not share it cannot pass each other descriptors.
    network: (u64, u64),
    user: u32,
}

impl Identity {
    /// This process's.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn here() -> Result<Self, Error> {
        const BOOT: &str = "/proc/sys/kernel/random/boot_id";
        const NETWORK: &str = "/proc/self/ns/net";
        let boot = fs::read_to_string(BOOT).map_err(|error| Error::NoIdentity { path: BOOT, error })?;
        let network = fs::metadata(NETWORK).map_err(|error| Error::NoIdentity { path: NETWORK, error })?;
        Ok(Self {
            host: uname().nodename().to_string_lossy().into_owned(),
            boot: boot.trim().to_owned(),
            network: (network.dev(), network.ino()),
            user: geteuid().as_raw(),
        })
    }

    /// The host's name, for messages.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The user's number: two users on one node are an error of the launcher.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// As bytes, to be exchanged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let header =
            Header { device: self.network.0, inode: self.network.1, user: self.user, boot_len: self.boot.len() as u32 };
        let mut bytes = bytemuck::bytes_of(&header).to_vec();
        bytes.extend(self.boot.as_bytes());
        bytes.extend(self.host.as_bytes());
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If these are not such bytes: another version of the library.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse(bytes).ok_or(Error::UnknownIdentity)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (header, rest) = bytes.split_at_checked(size_of::<Header>())?;
        let header: Header = bytemuck::pod_read_unaligned(header);
        let (boot, host) = rest.split_at_checked(header.boot_len as usize)?;
        Some(Self {
            host: String::from_utf8(host.to_vec()).ok()?,
            boot: String::from_utf8(boot.to_vec()).ok()?,
            network: (header.device, header.inode),
            user: header.user,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_being_bytes() {
        let here = Identity::here().unwrap();
        assert_eq!(Identity::from_bytes(&here.to_bytes()).unwrap(), here);
        assert!(!here.host().is_empty());
        for cut in 0..24 {
            assert!(Identity::from_bytes(&here.to_bytes()[..cut]).is_err());
        }
    }
}

//! Which processes share a node, found by comparing what they say about where they run:
//! launchers number nodes each in a way of its own, or not at all.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::Error;

/// Where a process runs. Equal identities can share memory and reach each other's sockets.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity {
    host: String,
    /// Random, made by the kernel when it starts: tells hosts of the same name apart.
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
        let unreadable = |path: &str, e: std::io::Error| {
            Error::new(format!(
                "cannot read {path}, by which processes of one node know each other: {e}"
            ))
        };
        const BOOT: &str = "/proc/sys/kernel/random/boot_id";
        const NETWORK: &str = "/proc/self/ns/net";
        let boot = fs::read_to_string(BOOT).map_err(|e| unreadable(BOOT, e))?;
        let network = fs::metadata(NETWORK).map_err(|e| unreadable(NETWORK, e))?;
        Ok(Self {
            host: nix::unistd::gethostname()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            boot: boot.trim().to_owned(),
            network: (network.dev(), network.ino()),
            user: nix::unistd::geteuid().as_raw(),
        })
    }

    /// The host's name, for messages.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The user's number: of one node, but of two users, is an error of the launcher's.
    pub fn user(&self) -> u32 {
        self.user
    }

    /// As bytes, to be exchanged.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(64 + self.host.len());
        bytes.extend(self.network.0.to_le_bytes());
        bytes.extend(self.network.1.to_le_bytes());
        bytes.extend(self.user.to_le_bytes());
        bytes.extend((self.boot.len() as u32).to_le_bytes());
        bytes.extend(self.boot.as_bytes());
        bytes.extend(self.host.as_bytes());
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// If these are not such bytes: another version of the library.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        Self::parse(bytes).ok_or_else(|| {
            Error::new(
                "a process of the job describes its node in a way unknown here: use one version of the library on all nodes",
            )
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (device, rest) = bytes.split_first_chunk()?;
        let (inode, rest) = rest.split_first_chunk()?;
        let (user, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (boot, host) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        Some(Self {
            host: String::from_utf8(host.to_vec()).ok()?,
            boot: String::from_utf8(boot.to_vec()).ok()?,
            network: (u64::from_le_bytes(*device), u64::from_le_bytes(*inode)),
            user: u32::from_le_bytes(*user),
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

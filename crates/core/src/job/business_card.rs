//! What a PE that another launcher than `oshrun` started says of itself to all others.

use ferroshmem_bootstrap::Error;
use ferroshmem_bootstrap::node::Identity;
use ferroshmem_platform::{Cores, Machine};

use super::declaration::Declaration;
use ferroshmem_layout::{DECLARATION_BYTES, VERSION};

/// What a PE says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusinessCard {
    /// What must be the same on all PEs.
    pub declaration: Declaration,
    /// Cores that it may use.
    pub cores: Cores,
    /// Bytes of memory of its node.
    pub memory: u64,
    /// Bytes of address space that it may use, 0 for no limit.
    pub address_space: u64,
    /// Its node.
    pub identity: Identity,
}

impl BusinessCard {
    /// Most bytes of a business card: the rest is a host's name.
    pub const MOST_BYTES: usize = DECLARATION_BYTES + 896;

    /// That of this process.
    ///
    /// # Errors
    /// If `/proc` cannot be read.
    pub fn of_this_process() -> Result<Self, Error> {
        let machine = Machine::here();
        Ok(Self {
            declaration: Declaration::of_this_process(),
            cores: Cores::of_this_process(),
            memory: machine.memory,
            address_space: machine.address_space.unwrap_or(0),
            identity: Identity::here()?,
        })
    }

    /// As bytes for other PEs. They begin with the version of the memory's layout: after it, other
    /// versions may differ.
    pub fn to_bytes(&self) -> Vec<u8> {
        let declaration = self.declaration.to_bytes();
        let mut bytes = Vec::with_capacity(Self::MOST_BYTES);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((declaration.len() as u16).to_le_bytes());
        bytes.extend(declaration);
        bytes.extend(self.cores.to_bytes());
        bytes.extend(self.memory.to_le_bytes());
        bytes.extend(self.address_space.to_le_bytes());
        bytes.extend(self.identity.to_bytes());
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes); None if they are something else, such as those of another
    /// version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > Self::MOST_BYTES {
            return None;
        }
        let (version, rest) = bytes.split_first_chunk()?;
        if u32::from_le_bytes(*version) != VERSION {
            return None;
        }
        let (length, rest) = rest.split_first_chunk()?;
        let (declaration, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let (cores, rest) = rest.split_first_chunk()?;
        let (memory, rest) = rest.split_first_chunk()?;
        let (address_space, rest) = rest.split_first_chunk()?;
        Some(Self {
            declaration: Declaration::from_bytes(declaration)?,
            cores: Cores::from_bytes(cores),
            memory: u64::from_le_bytes(*memory),
            address_space: u64::from_le_bytes(*address_space),
            identity: Identity::from_bytes(rest).ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn business_cards_come_back() {
        let mine = BusinessCard::of_this_process().unwrap();
        let bytes = mine.to_bytes();
        assert_eq!(BusinessCard::from_bytes(&bytes), Some(mine));
        let host = bytes.len() - Identity::here().unwrap().to_bytes().len();
        for cut in 0..host {
            assert_eq!(BusinessCard::from_bytes(&bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = BusinessCard::of_this_process().unwrap().to_bytes();
        let mut version = bytes.clone();
        version[0] ^= 1;
        assert_eq!(BusinessCard::from_bytes(&version), None);
        let mut length = bytes.clone();
        length[5] = u8::MAX;
        assert_eq!(BusinessCard::from_bytes(&length), None);
        let long = [&bytes[..], &[b'x'; BusinessCard::MOST_BYTES]].concat();
        assert_eq!(BusinessCard::from_bytes(&long), None);
        // Every byte is another process's: none of them may end this one.
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= flip;
                let _ = BusinessCard::from_bytes(&bytes);
            }
        }
    }
}

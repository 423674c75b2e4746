//! How a process is invited to a connection between nodes, and what it says first as a member.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::calls::TABLE;
use crate::job::service::FIRST_REMOTE;
use ferroshmem_layout::MAX_PES;

const MAGIC: u32 = 0x7368_6c6b;

/// Bytes of the token of a connection.
const TOKEN: usize = 16;
/// Bytes of the beginning of what a member says: magic, its number, bytes that follow, token.
pub const HEAD: usize = 3 * size_of::<u32>() + TOKEN;
/// Most bytes that a member says of itself, without its kernels and with them.
pub(super) const MOST_BYTES: usize = (64 << 10) + TABLE as usize;

/// What a member needs to know to join a connection between nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    /// The number of the connection.
    pub number: u32,
    /// Members of each group.
    pub sizes: [usize; 2],
    /// Whether the end of one group is not the other's.
    pub independent: bool,
    /// Where the coordinator listens.
    pub coordinator: SocketAddr,
    /// What its members know and no other process does.
    pub token: [u8; TOKEN],
}

impl Invitation {
    /// Words of an invitation but for its number.
    pub const WORDS: usize = 6;

    /// As words, which a root gives its team.
    pub fn to_words(&self) -> [u64; Self::WORDS] {
        let (ip, is_v4) = match self.coordinator.ip() {
            IpAddr::V4(v4) => (v4.to_ipv6_mapped(), 1),
            IpAddr::V6(v6) => (v6, 0),
        };
        let long = |bytes: &[u8]| bytes.iter().fold(0, |word, b| word << 8 | u64::from(*b));
        let (ip, token) = (ip.octets(), &self.token);
        let [first, second] = self.sizes.map(|n| n as u64);
        [
            long(&ip[..8]),
            long(&ip[8..]),
            u64::from(self.independent) << 17 | is_v4 << 16 | u64::from(self.coordinator.port()),
            first << 32 | second,
            long(&token[..8]),
            long(&token[8..]),
        ]
    }

    /// From [`to_words`](Self::to_words).
    pub fn from_words(number: u32, words: [u64; Self::WORDS]) -> Self {
        let both = |i: usize| u128::from(words[i]) << 64 | u128::from(words[i + 1]);
        let ip = Ipv6Addr::from(both(0));
        let v4 = ip.to_ipv4_mapped().filter(|_| words[2] >> 16 & 1 != 0);
        let ip = v4.map_or(IpAddr::V6(ip), IpAddr::V4);
        Self {
            number,
            sizes: [(words[3] >> 32) as usize, words[3] as u32 as usize],
            independent: words[2] >> 17 & 1 != 0,
            coordinator: SocketAddr::new(ip, words[2] as u16),
            token: both(4).to_be_bytes(),
        }
    }

    /// As the group that accepts sends it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.number.to_le_bytes().to_vec();
        bytes.extend(self.to_words().iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes); None if it is no invitation to a connection that can be.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (number, words) = bytes.split_first_chunk()?;
        let (words, rest) = words.as_chunks::<{ size_of::<u64>() }>();
        let words: [_; Self::WORDS] = words.try_into().ok().filter(|_| rest.is_empty())?;
        let this = Self::from_words(u32::from_le_bytes(*number), words.map(u64::from_le_bytes));
        let [first, second] = this.sizes;
        let can_be = first > 0 && second > 0 && first + second <= MAX_PES;
        (can_be && this.number >= FIRST_REMOTE).then_some(this)
    }
}

/// What a member says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinRequest {
    /// Its number.
    pub member: u32,
    /// Bytes that it says of itself after that.
    pub len: u32,
    /// That of the connection.
    pub token: [u8; TOKEN],
}

impl JoinRequest {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let words = [MAGIC, self.member, self.len];
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        words.chain(self.token).collect()
    }

    /// From [`to_bytes`](Self::to_bytes); None of a stranger.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD] = bytes.try_into().ok()?;
        let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b]));
        let this = Self { member: word(1), len: word(2), token: std::array::from_fn(|i| bytes[HEAD - TOKEN + i]) };
        (word(0) == MAGIC && this.len as usize <= MOST_BYTES).then_some(this)
    }
}

/// What `n` members have said.
pub(crate) fn parts(mut all: &[u8], n: usize) -> Option<Vec<Vec<u8>>> {
    let mut parts = Vec::with_capacity(n);
    for _ in 0..n {
        let (len, rest) = all.split_first_chunk()?;
        let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        parts.push(part.to_vec());
        all = rest;
    }
    all.is_empty().then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invitations_come_back_from_words() {
        for coordinator in ["10.1.2.3:4711", "[2001:db8::7]:65535", "[::ffff:1.2.3.4]:1"] {
            let invitation = Invitation {
                number: 5,
                sizes: [3, 4096],
                independent: coordinator.len() % 2 == 0,
                coordinator: coordinator.parse().unwrap(),
                token: std::array::from_fn(|i| 250 - i as u8),
            };
            let words = invitation.to_words();
            assert_eq!(Invitation::from_words(5, words), invitation);
            let taken = Invitation { number: FIRST_REMOTE | 5, sizes: [3, MAX_PES - 3], ..invitation.clone() };
            let bytes = taken.to_bytes();
            assert_eq!(Invitation::from_bytes(&bytes), Some(taken));
            // Of another kind of connection, with too many members, and cut.
            assert_eq!(Invitation::from_bytes(&invitation.to_bytes()), None);
            assert_eq!(Invitation::from_bytes(&bytes[..bytes.len() - 1]), None);
        }
    }
}

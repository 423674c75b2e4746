//! What a member of a connection between nodes says of itself, by way of the coordinator.

use super::calls::TABLE;

/// What a member says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemberInfo {
    /// The digest of its globals' layout, and their bytes.
    pub image: u64,
    pub globals_len: u64,
    /// Bytes of its heap.
    pub heap_size: u64,
    /// Its number in its job, and among the PEs of that on its node.
    pub job_pe: u32,
    pub index: u32,
    /// Whether floating-point sums must not depend on the order of their operands.
    pub reproducible: bool,
    /// Its kernels, if the other group may call them ([`calls::described`](super::calls::described)).
    pub kernels: Vec<u8>,
    /// Its node ([`Identity`](ferroshmem_bootstrap::node::Identity)); nothing if that is not known.
    pub node: Vec<u8>,
    /// The name of the socket at which it gives its job's memory on its node, if it does.
    pub socket: Vec<u8>,
    /// Its address blob.
    pub address: Vec<u8>,
}

impl MemberInfo {
    const LONGS: usize = 3;
    const WORDS: usize = 5;
    const HEAD: usize = Self::LONGS * size_of::<u64>() + Self::WORDS * size_of::<u32>() + 1;

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let parts = [&self.kernels, &self.node, &self.socket, &self.address];
        let [kernels, node, socket, address] = parts.map(Vec::len);
        let mut bytes = Vec::with_capacity(Self::HEAD + kernels + node + socket + address);
        for long in [self.image, self.globals_len, self.heap_size] {
            bytes.extend_from_slice(&long.to_le_bytes());
        }
        let lengths = [kernels, node, socket].map(|len| len as u32);
        for word in [self.job_pe, self.index].into_iter().chain(lengths) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.push(self.reproducible.into());
        for part in parts {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    /// From [`to_bytes`](Self::to_bytes); None if these are not such bytes.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_at_checked(Self::HEAD)?;
        let long = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| head[8 * i + b]));
        let word = |i: usize| {
            let at = Self::LONGS * size_of::<u64>() + i * size_of::<u32>();
            u32::from_le_bytes(std::array::from_fn(|b| head[at + b]))
        };
        let (kernels, rest) = rest.split_at_checked(word(2) as usize)?;
        let (node, rest) = rest.split_at_checked(word(3) as usize)?;
        let (socket, address) = rest.split_at_checked(word(4) as usize)?;
        if kernels.len() as u64 > TABLE {
            return None;
        }
        Some(Self {
            image: long(0),
            globals_len: long(1),
            heap_size: long(2),
            job_pe: word(0),
            index: word(1),
            reproducible: head[Self::HEAD - 1] != 0,
            kernels: kernels.to_vec(),
            node: node.to_vec(),
            socket: socket.to_vec(),
            address: address.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_say_comes_back() {
        let info = MemberInfo {
            image: 1 << 63 | 5,
            globals_len: 4096,
            heap_size: 1 << 40,
            job_pe: 4095,
            index: 17,
            reproducible: true,
            kernels: (0..100).rev().collect(),
            node: b"a node".to_vec(),
            socket: b"its socket".to_vec(),
            address: (0..200).collect(),
        };
        let bytes = info.to_bytes();
        assert_eq!(MemberInfo::from_bytes(&bytes), Some(info.clone()));
        let all = bytes.len() - info.address.len();
        for len in 0..all {
            assert_eq!(MemberInfo::from_bytes(&bytes[..len]), None, "{len}");
        }
    }
}

//! All that a PE needs to reach another, in bytes.

use bytemuck::{Pod, Zeroable, bytes_of};

use crate::Error;
use crate::memory::{RmaAddress, SEGMENTS, SegmentKeys};

/// Changes with the form of address blobs.
const VERSION: u8 = 3;
/// Keys of a segment that a blob holds; peers read the others from the table.
const KEYS: usize = 8;

/// What a PE hands to its peers.
#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct AddressBlob {
    pub provider: String,
    /// The endpoint's address in libfabric's form, and which form it is.
    pub name: Vec<u8>,
    pub format: u32,
    /// Memory is addressed by virtual address instead of by offset.
    pub virtual_addresses: bool,
    /// The table of keys, where segments are registered in chunks.
    pub key_table: Option<RmaAddress>,
    /// The slots for active messages, where the PE serves them.
    pub message_slots: Option<RmaAddress>,
    pub segments: Vec<SegmentKeys>,
}

/// A [`RmaAddress`], or none.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct RmaAddressBytes {
    is_there: u8,
    address: u64,
    key: u64,
}

/// The beginning of a blob, in the byte order of all supported processors. Provider, name and segments follow.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct Header {
    version: u8,
    virtual_addresses: u8,
    provider_len: u8,
    name_len: u8,
    format: u32,
    key_table: RmaAddressBytes,
    message_slots: RmaAddressBytes,
    segments: u8,
}

/// The beginning of a segment. Its keys follow.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
struct SegmentHeader {
    base: u64,
    len: u64,
    keys: u8,
}

impl RmaAddressBytes {
    fn new(location: Option<RmaAddress>) -> RmaAddressBytes {
        RmaAddressBytes {
            is_there: u8::from(location.is_some()),
            address: location.map_or(0, |location| location.address),
            key: location.map_or(0, |location| location.key),
        }
    }

    fn location(self) -> Option<RmaAddress> {
        (self.is_there == 1).then_some(RmaAddress { address: self.address, key: self.key })
    }
}

impl AddressBlob {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let short = |bytes: &'_ [u8]| bytes.len().min(255);
        let (provider, name) = (self.provider.as_bytes(), &self.name);
        let header = Header {
            version: VERSION,
            virtual_addresses: u8::from(self.virtual_addresses),
            provider_len: short(provider) as u8,
            name_len: short(name) as u8,
            format: self.format,
            key_table: RmaAddressBytes::new(self.key_table),
            message_slots: RmaAddressBytes::new(self.message_slots),
            segments: self.segments.len() as u8,
        };
        let mut bytes = bytes_of(&header).to_vec();
        bytes.extend(&provider[..short(provider)]);
        bytes.extend(&name[..short(name)]);
        for segment in &self.segments {
            let keys = &segment.keys[..segment.keys.len().min(KEYS)];
            let header = SegmentHeader { base: segment.base, len: segment.len, keys: keys.len() as u8 };
            bytes.extend(bytes_of(&header));
            bytes.extend(bytemuck::must_cast_slice::<u64, u8>(keys));
        }
        bytes
    }

    /// # Errors
    /// These are not the bytes of a blob of this version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<AddressBlob, Error> {
        parse(bytes).ok_or(Error::AddressMalformed)
    }
}

/// The value that bytes begin with, and the bytes after it.
fn first<T: Pod>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (value, rest) = bytes.split_at_checked(size_of::<T>())?;
    Some((bytemuck::pod_read_unaligned(value), rest))
}

fn parse(bytes: &[u8]) -> Option<AddressBlob> {
    let (header, rest) = first::<Header>(bytes)?;
    if header.version != VERSION || usize::from(header.segments) > SEGMENTS {
        return None;
    }
    let (provider, rest) = rest.split_at_checked(header.provider_len.into())?;
    let (name, mut rest) = rest.split_at_checked(header.name_len.into())?;
    let mut segments = Vec::with_capacity(header.segments.into());
    for _ in 0..header.segments {
        let (segment, after) = first::<SegmentHeader>(rest)?;
        let n = usize::from(segment.keys);
        if n > KEYS {
            return None;
        }
        let (keys, after) = after.split_at_checked(n * size_of::<u64>())?;
        segments.push(SegmentKeys {
            base: segment.base,
            len: segment.len,
            keys: keys.chunks_exact(size_of::<u64>()).map(bytemuck::pod_read_unaligned).collect(),
        });
        rest = after;
    }
    Some(AddressBlob {
        provider: String::from_utf8(provider.to_vec()).ok()?,
        name: name.to_vec(),
        format: header.format,
        virtual_addresses: header.virtual_addresses == 1,
        key_table: header.key_table.location(),
        message_slots: header.message_slots.location(),
        segments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> AddressBlob {
        let segment = |i: u64| SegmentKeys {
            base: 1 << (40 + i),
            len: u64::MAX >> i,
            keys: (0..KEYS as u64).map(|k| k << 32 | i).collect(),
        };
        AddressBlob {
            provider: "verbs;ofi_rxm".into(),
            name: (0..=200).collect(),
            format: 2,
            virtual_addresses: true,
            key_table: Some(RmaAddress { address: 0x7fff_0000_0000, key: 77 }),
            message_slots: Some(RmaAddress { address: 1 << 46, key: u64::MAX }),
            segments: (0..SEGMENTS as u64).map(segment).collect(),
        }
    }

    #[test]
    fn comes_back_as_it_was() {
        let bytes = example().to_bytes();
        assert!(bytes.len() < 1024);
        assert_eq!(AddressBlob::from_bytes(&bytes).unwrap(), example());
    }

    #[test]
    fn truncated_or_foreign_is_refused() {
        let bytes = example().to_bytes();
        for n in 0..bytes.len() {
            assert!(AddressBlob::from_bytes(&bytes[..n]).is_err(), "{n} bytes");
        }
        let mut keys = bytes.clone();
        let first_segment = size_of::<Header>() + example().provider.len() + example().name.len();
        let count = first_segment + size_of::<SegmentHeader>() - 1;
        assert_eq!(keys[count], KEYS as u8);
        keys[count] += 1;
        keys.extend([0; 1024]);
        assert!(AddressBlob::from_bytes(&keys).is_err(), "a key too many");
        let mut other = bytes;
        other[0] = VERSION + 1;
        assert!(AddressBlob::from_bytes(&other).is_err());
    }
}

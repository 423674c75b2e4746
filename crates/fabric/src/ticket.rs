//! What a PE tells its peers, in bytes.

use crate::Error;
use crate::segment::SEGMENTS;

/// Changes with the form of tickets.
const FORM: u8 = 2;
/// Keys of a segment that a ticket holds; peers read the others from the table.
const KEYS: usize = 8;

#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct Ticket {
    pub provider: String,
    /// The endpoint's address in libfabric's form, and which form it is.
    pub name: Vec<u8>,
    pub format: u32,
    /// Memory is addressed by virtual address instead of by offset.
    pub virtual_addresses: bool,
    /// Address and key of the table of keys, where segments are registered in chunks.
    pub table: Option<(u64, u64)>,
    /// Address and key of the desk, where the PE can be asked.
    pub desk: Option<(u64, u64)>,
    pub segments: Vec<SegmentTicket>,
}

#[derive(Debug, PartialEq, Eq, Default)]
pub(crate) struct SegmentTicket {
    pub base: u64,
    pub len: u64,
    pub keys: Vec<u64>,
}

impl Ticket {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORM, u8::from(self.virtual_addresses)];
        let mut text = |bytes: &[u8]| {
            let len = bytes.len().min(255);
            out.push(len as u8);
            out.extend(&bytes[..len]);
        };
        text(self.provider.as_bytes());
        text(&self.name);
        out.extend(self.format.to_le_bytes());
        for place in [self.table, self.desk] {
            out.push(u8::from(place.is_some()));
            let (base, key) = place.unwrap_or_default();
            out.extend(base.to_le_bytes());
            out.extend(key.to_le_bytes());
        }
        out.push(self.segments.len() as u8);
        for segment in &self.segments {
            out.extend(segment.base.to_le_bytes());
            out.extend(segment.len.to_le_bytes());
            let keys = &segment.keys[..segment.keys.len().min(KEYS)];
            out.push(keys.len() as u8);
            for key in keys {
                out.extend(key.to_le_bytes());
            }
        }
        out
    }

    /// # Errors
    /// These are not the bytes of a ticket of this version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Ticket, Error> {
        parse(bytes).ok_or_else(|| {
            Error::new("a PE's address is not understood: do all nodes have the same FerroSHMEM?")
        })
    }
}

fn parse(bytes: &[u8]) -> Option<Ticket> {
    let mut rest = bytes;
    let mut take = |n: usize| -> Option<&[u8]> {
        let (head, tail) = rest.split_at_checked(n)?;
        rest = tail;
        Some(head)
    };
    if take(1)? != [FORM] {
        return None;
    }
    let virtual_addresses = take(1)? == [1];
    let n = take(1)?[0].into();
    let provider = String::from_utf8(take(n)?.to_vec()).ok()?;
    let n = take(1)?[0].into();
    let name = take(n)?.to_vec();
    let format = u32::from_le_bytes(take(4)?.try_into().ok()?);
    let mut places = [None; 2];
    for place in &mut places {
        let is_there = take(1)? == [1];
        let base = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let key = u64::from_le_bytes(take(8)?.try_into().ok()?);
        *place = is_there.then_some((base, key));
    }
    let [table, desk] = places;
    let n = usize::from(take(1)?[0]);
    if n > SEGMENTS {
        return None;
    }
    let mut segments = Vec::with_capacity(n);
    for _ in 0..n {
        let base = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let len = u64::from_le_bytes(take(8)?.try_into().ok()?);
        let n = usize::from(take(1)?[0]);
        let keys = take(8 * n)?
            .chunks_exact(8)
            .map(|key| u64::from_le_bytes(key.try_into().expect("8 bytes")))
            .collect();
        segments.push(SegmentTicket { base, len, keys });
    }
    Some(Ticket {
        provider,
        name,
        format,
        virtual_addresses,
        table,
        desk,
        segments,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Ticket {
        let segment = |i: u64| SegmentTicket {
            base: 1 << (40 + i),
            len: u64::MAX >> i,
            keys: (0..KEYS as u64).map(|k| k << 32 | i).collect(),
        };
        Ticket {
            provider: "verbs;ofi_rxm".into(),
            name: (0..=200).collect(),
            format: 2,
            virtual_addresses: true,
            table: Some((0x7fff_0000_0000, 77)),
            desk: Some((1 << 46, u64::MAX)),
            segments: (0..SEGMENTS as u64).map(segment).collect(),
        }
    }

    #[test]
    fn comes_back_as_it_went() {
        let bytes = example().to_bytes();
        assert!(bytes.len() < 1024);
        assert_eq!(Ticket::from_bytes(&bytes).unwrap(), example());
    }

    #[test]
    fn truncated_or_foreign_is_refused() {
        let bytes = example().to_bytes();
        for n in 0..bytes.len() {
            assert!(Ticket::from_bytes(&bytes[..n]).is_err(), "{n} bytes");
        }
        let mut other = bytes;
        other[0] = FORM + 1;
        assert!(Ticket::from_bytes(&other).is_err());
    }
}

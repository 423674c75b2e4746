//! The messages of the room as they travel: a header, then items or results.

use bytemuck::{Pod, Zeroable};

/// Bytes of which all items are multiples.
const WORD: usize = size_of::<u64>();
/// Bytes of a header.
pub(crate) const HEADER: usize = size_of::<Header>();
/// Bytes of a message at most: as much as rxm sends without asking its receiver.
pub(crate) const LONGEST: usize = 16 << 10;
/// Bytes of one with a long record by itself, where the provider asks no receiver: 64 KiB of data, and what describes
/// them.
pub(crate) const LONG: usize = (64 << 10) + 256;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Requests, to be executed in the order of their messages' numbers.
    Requests,
    /// Results of the request message with that number.
    Results,
    /// An acknowledgement alone.
    Acknowledgement,
}

/// The beginning of each message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Header {
    pub kind: u16,
    /// One more than the number of the slot that the receiver may write requests to; 0: none.
    pub slot: u16,
    /// Number of the PE that sends.
    pub source: u32,
    /// Number of the request message, or of that whose results these are.
    pub sequence: u32,
    /// Number of the last request message of the receiver that has been executed.
    pub executed: u32,
    /// Bytes that follow.
    pub bytes: u32,
    pub reserved: u32,
}

impl Header {
    pub(crate) fn new(kind: Kind, source: usize, sequence: u32) -> Header {
        Header { kind: kind as u16, slot: 0, source: source as u32, sequence, executed: 0, bytes: 0, reserved: 0 }
    }

    pub(crate) fn kind(&self) -> Option<Kind> {
        const KINDS: [Kind; 3] = [Kind::Requests, Kind::Results, Kind::Acknowledgement];
        KINDS.get(usize::from(self.kind)).copied()
    }

    /// The header of a message and what follows it. None: it is malformed.
    pub(crate) fn split(message: &[u8]) -> Option<(Header, Kind, &[u8])> {
        let (header, rest) = message.split_at_checked(HEADER)?;
        let header: Header = bytemuck::pod_read_unaligned(header);
        let body = rest.get(..header.bytes as usize)?;
        let kind = header.kind()?;
        let is_whole = match kind {
            Kind::Requests => !body.is_empty() && body.len().is_multiple_of(WORD),
            Kind::Results => !body.is_empty(),
            Kind::Acknowledgement => body.is_empty(),
        };
        is_whole.then_some((header, kind, body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_whole_or_refused() {
        let whole = |kind, bytes: u32| {
            let mut header = Header::new(kind, 3, 7);
            header.bytes = bytes;
            let mut message = bytemuck::bytes_of(&header).to_vec();
            message.resize(HEADER + bytes as usize, 1);
            message
        };
        let requests = whole(Kind::Requests, 2 * WORD as u32);
        let (header, kind, body) = Header::split(&requests).unwrap();
        assert_eq!((header.source, header.sequence, kind), (3, 7, Kind::Requests));
        assert_eq!(body.len(), 2 * WORD);
        for n in 0..requests.len() {
            assert!(Header::split(&requests[..n]).is_none(), "{n} bytes");
        }
        assert!(Header::split(&whole(Kind::Results, 12)).is_some());
        assert!(Header::split(&whole(Kind::Acknowledgement, 0)).is_some());
        for (kind, bytes) in
            [(Kind::Requests, 0), (Kind::Requests, WORD as u32 + 1), (Kind::Results, 0), (Kind::Acknowledgement, 8)]
        {
            assert!(Header::split(&whole(kind, bytes)).is_none(), "{kind:?} of {bytes}");
        }
        let mut unknown = requests;
        unknown[0] = 3;
        assert!(Header::split(&unknown).is_none());
    }
}

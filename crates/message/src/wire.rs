//! Records as they travel between nodes: an envelope, a control part if the kind has one, data.
//!
//! They come from other processes: [`parse`] refuses what no PE writes.

use ferroshmem_layout::inbox::{Envelope, Kind, RendezvousControl};

/// Bytes of an envelope.
const ENVELOPE: usize = 3 * size_of::<u64>();
/// Bytes before the data of a record that has a control part.
pub const HEAD: usize = ENVELOPE + size_of::<RendezvousControl>();

/// The bytes before a record's data, and how many they are.
pub fn head(envelope: &Envelope, control: Option<&RendezvousControl>) -> ([u8; HEAD], usize) {
    let [first, second, bytes] = envelope.to_words();
    let control = control.copied();
    let words = match control {
        None => [first, second, bytes, 0, 0, 0, 0],
        Some(c) => [first, second, bytes, c.request, c.reply, c.place, c.from],
    };
    let mut head = [0; HEAD];
    for (to, word) in head.chunks_exact_mut(8).zip(words) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    (head, if control.is_some() { HEAD } else { ENVELOPE })
}

/// The parts of a record. None: it is none.
pub fn parse(record: &[u8]) -> Option<(Envelope, RendezvousControl, &[u8])> {
    let mut rest = record;
    let mut word = || {
        let (word, more) = rest.split_first_chunk()?;
        rest = more;
        Some(u64::from_ne_bytes(*word))
    };
    let (first, second, bytes) = (word()?, word()?, word()?);
    let envelope = Envelope::from_words([first, second, bytes])?;
    let kind = envelope.kind;
    let mut control = RendezvousControl::default();
    if kind != Kind::Eager {
        control = RendezvousControl { request: word()?, reply: word()?, place: word()?, from: word()? };
    }
    let has_data = matches!(kind, Kind::Eager | Kind::Fragment);
    let is_whole = rest.len() == envelope.len as usize
        && (has_data || rest.is_empty())
        && (kind != Kind::Eager || bytes == rest.len() as u64);
    is_whole.then_some((envelope, control, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_written() {
        let data = [7u8; 50];
        for number in 0..Kind::ALL.len() {
            let kind = Kind::from_number(number as u16).unwrap();
            let has_data = matches!(kind, Kind::Eager | Kind::Fragment);
            let len = if has_data { data.len() as u32 } else { 0 };
            let envelope = Envelope {
                kind,
                team: 0xfedc,
                source: u32::MAX,
                tag: i32::MAX,
                len,
                bytes: if has_data { u64::from(len) } else { 1 << 40 },
            };
            let control = RendezvousControl { request: 1, reply: u64::MAX, place: 3, from: 4 };
            let control = (kind != Kind::Eager).then_some(control);
            let (head, n) = head(&envelope, control.as_ref());
            let mut record = head[..n].to_vec();
            record.extend_from_slice(&data[..len as usize]);
            let (again, its_control, its_data) = parse(&record).unwrap();
            assert_eq!((again, its_data), (envelope, &data[..len as usize]));
            assert_eq!(its_control, control.unwrap_or_default());
            for cut in 0..record.len() {
                assert!(parse(&record[..cut]).is_none(), "{cut} bytes");
            }
            record.push(0);
            assert!(parse(&record).is_none(), "a byte too many");
            record[0] = Kind::ALL.len() as u8;
            assert!(parse(&record).is_none(), "no kind");
        }
    }
}

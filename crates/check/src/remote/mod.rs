//! The checks of PEs that share no file with `oshrun`: those of several hosts, or of another launcher. `oshrun` keeps
//! the file, and the PEs tell it by TCP what they do.
//!
//! A message is a word with the number of its words, and these. The first one of a PE has the job's token, which it has
//! from its environment. Each one is answered, but for steps that can wait: they go with the next one that cannot. So
//! what a PE tells others is in the file before it takes effect, as if the PE had written it itself.

mod address;
mod connection;
pub(crate) mod words;

use std::io::{self, Read, Write};

pub(crate) use self::address::Address;
pub(crate) use self::connection::Connection;

/// The most words that a message has.
const MOST: usize = 1 << 20;

/// Kinds of messages: their first word.
pub(crate) mod kind {
    /// Token, PE, number of PEs. Answer: what is checked.
    pub(crate) const HELLO: u64 = 1;
    /// Clock and steps. Answer: the clock, what was found.
    pub(crate) const STEPS: u64 = 2;
    /// Object and address, routine. Answer: the site.
    pub(crate) const SITE: u64 = 3;
    /// Path. Answer: number of the object plus 1.
    pub(crate) const OBJECT: u64 = 4;
    /// Words of a finding. Answer: nothing.
    pub(crate) const REPORT: u64 = 5;
    /// Word of the header that is to be 1. Answer: nothing.
    pub(crate) const RAISE: u64 = 6;
}

pub(crate) fn send(to: &mut impl Write, words: &[u64]) -> io::Result<()> {
    let all = std::iter::once(words.len() as u64).chain(words.iter().copied());
    let bytes: Vec<u8> = all.flat_map(u64::to_le_bytes).collect();
    to.write_all(&bytes)
}

pub(crate) fn receive(from: &mut impl Read) -> io::Result<Vec<u64>> {
    let mut word = [0; size_of::<u64>()];
    from.read_exact(&mut word)?;
    let count = usize::try_from(u64::from_le_bytes(word)).ok().filter(|count| *count <= MOST);
    let count = count.ok_or_else(|| io::Error::other("a message is too long"))?;
    let mut bytes = vec![0; count * size_of::<u64>()];
    from.read_exact(&mut bytes)?;
    let (words, _) = bytes.as_chunks();
    Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_received_as_it_was_sent() {
        let mut bytes = Vec::new();
        send(&mut bytes, &[1, u64::MAX]).unwrap();
        send(&mut bytes, &[]).unwrap();
        let mut from = &bytes[..];
        assert_eq!(receive(&mut from).unwrap(), [1, u64::MAX]);
        assert_eq!(receive(&mut from).unwrap(), []);
        assert!(receive(&mut from).is_err());
        assert!(receive(&mut &[0xff; 16][..]).is_err());
    }
}

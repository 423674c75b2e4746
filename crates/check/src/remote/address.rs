//! Where PEs reach `oshrun`, and by which token, as one word of the environment.

use std::io;
use std::net::{IpAddr, SocketAddr};

use ferroshmem_bootstrap::secret::Secret;

/// Begins the word: other values are numbers of descriptors.
const MARK: &str = "tcp";
const SEPARATOR: char = '/';

/// The address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub token: [u64; 4],
    /// Of the interfaces of this host, the first that a PE reaches.
    pub places: Vec<SocketAddr>,
}

impl Address {
    /// With a new token, which others cannot guess.
    pub(crate) fn new(addresses: &[IpAddr], port: u16) -> io::Result<Self> {
        let secret = Secret::random().map_err(io::Error::other)?;
        let token = std::array::from_fn(|i| secret.token("checks", i as u64));
        Ok(Self { token, places: addresses.iter().map(|address| SocketAddr::new(*address, port)).collect() })
    }

    pub(crate) fn to_word(&self) -> String {
        let token = self.token.map(|word| format!("{word:016x}")).concat();
        let places = self.places.iter().map(ToString::to_string);
        let words: Vec<String> = [MARK.to_owned(), token].into_iter().chain(places).collect();
        words.join(&SEPARATOR.to_string())
    }

    /// From the word; None if it is something else.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        let mut words = word.split(SEPARATOR);
        if words.next() != Some(MARK) {
            return None;
        }
        let digits = words.next().filter(|digits| digits.len() == 64 && digits.is_ascii())?;
        let mut token = [0; 4];
        for (i, word) in token.iter_mut().enumerate() {
            *word = u64::from_str_radix(&digits[16 * i..][..16], 16).ok()?;
        }
        let places = words.map(|place| place.parse().ok()).collect::<Option<_>>()?;
        Some(Self { token, places })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_word() {
        let addresses = ["10.75.0.1", "fe80::1"].map(|address| address.parse().unwrap());
        let address = Address::new(&addresses, 4711).unwrap();
        assert_ne!(address.token, [0; 4]);
        let word = address.to_word();
        assert_eq!(Address::of_word(&word).as_ref(), Some(&address));
        assert!(word.ends_with("/10.75.0.1:4711/[fe80::1]:4711"), "{word}");
        for wrong in ["7", "tcp", "tcp/12", &word[..word.len() - 1].replace("tcp", "udp"), &format!("{word}/x")] {
            assert_eq!(Address::of_word(wrong), None, "{wrong}");
        }
    }
}

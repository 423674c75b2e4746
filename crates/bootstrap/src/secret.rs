//! What the processes of one job know and no other process does: it came through the launcher,
//! which serves no other user.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher24x128};

use crate::{Bootstrap, Error};

const LEN: usize = 32;

/// 32 random bytes that all processes of the job have. Only tokens derived from them are sent, one
/// for each purpose, so that a process that sees one learns no other.
///
/// Derivation is by SipHash-2-4, a keyed hash made for authentication of short messages
/// (Aumasson and Bernstein 2012). The standard library's hasher is the faster SipHash-1-3,
/// which promises less, and promises not to stay that.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; LEN]);

/// Whether two secrets or tokens are the same, in a time that does not depend on where they differ.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (x, y)| all | (x ^ y)) == 0
}

impl Secret {
    /// Rank 0 makes the secret, and all processes get it. Collective: one exchange.
    ///
    /// # Errors
    /// If the exchange fails, or the system has no random numbers.
    pub fn agree(bootstrap: &dyn Bootstrap) -> Result<Self, Error> {
        let mine = match bootstrap.rank() {
            0 => Self::random()?.0.to_vec(),
            _ => Vec::new(),
        };
        let all = bootstrap.exchange(&mine)?;
        let bytes = all.first().and_then(|b| b.as_slice().try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::NoSecret { launcher: bootstrap.launcher().to_owned() })
    }

    /// A new one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> Result<Self, Error> {
        let mut bytes = [0; LEN];
        random(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// That of processes which a token has come to, and no other process.
    pub fn from_token(token: [u8; 16]) -> Self {
        Self(std::array::from_fn(|i| token[i % token.len()]))
    }

    /// A token of 64 bits for a purpose and a number within it.
    pub fn token(&self, purpose: &str, number: u64) -> u64 {
        let mut hasher = SipHasher24::new_with_key(self.key());
        self.feed(&mut hasher, purpose, number);
        hasher.finish()
    }

    /// A token of 128 bits, where a process of another job may guess often.
    pub fn long_token(&self, purpose: &str, number: u64) -> [u8; 16] {
        let mut hasher = SipHasher24x128::new_with_key(self.key());
        self.feed(&mut hasher, purpose, number);
        hasher.finish128().as_bytes()
    }

    /// SipHash takes 16 bytes as its key; the other 16 are the start of what is hashed.
    fn key(&self) -> &[u8; 16] {
        let (key, _) = self.0.split_first_chunk().expect("32 bytes are 16 and 16");
        key
    }

    fn feed(&self, hasher: &mut impl Hasher, purpose: &str, number: u64) {
        hasher.write(&self.0[16..]);
        hasher.write(&number.to_le_bytes());
        hasher.write(purpose.as_bytes());
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Fills `bytes` with random ones of the system.
pub(crate) fn random(bytes: &mut [u8]) -> Result<(), Error> {
    getrandom::fill(bytes).map_err(Error::NoRandomNumbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_by_secret_purpose_and_number() {
        let secret = Secret([7; LEN]);
        let mut other = secret.clone();
        other.0[31] ^= 1;
        let token = secret.token("keys", 3);
        assert_eq!(token, secret.clone().token("keys", 3));
        assert_ne!(token, secret.token("keys", 4));
        assert_ne!(token, secret.token("kezs", 3));
        assert_ne!(token, other.token("keys", 3));
        assert_ne!(secret.long_token("keys", 3), other.long_token("keys", 3));
    }

    #[test]
    fn processes_with_one_token_have_one_secret() {
        let of = |last: u8| Secret::from_token(std::array::from_fn(|i| i as u8 | last));
        assert_eq!(of(0).token("keys", 3), of(0).token("keys", 3));
        assert_ne!(of(0).token("keys", 3), of(16).token("keys", 3));
    }

    #[test]
    fn secrets_are_random_and_not_shown() {
        let secret = Secret::random().unwrap();
        assert_ne!(secret, Secret::random().unwrap());
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}

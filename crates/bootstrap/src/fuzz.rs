//! Entries of the fuzzers (docs/fuzzing.md): each parser of others' bytes, given any bytes.

use crate::node::Identity;

pub use crate::pmi::fuzz::{pmi1, pmi2};

/// A process's description of its node: what is read is what would be written.
///
/// # Panics
/// If it is not.
pub fn identity(bytes: &[u8]) {
    if let Ok(identity) = Identity::from_bytes(bytes) {
        assert_eq!(identity.to_bytes(), bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroshmem_fuzz::feed;

    #[test]
    fn parsers_take_any_bytes() {
        feed("pmi1", pmi1);
        feed("pmi2", pmi2);
        feed("identity", identity);
    }
}

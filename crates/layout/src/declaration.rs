//! What a PE declares of itself before the first synchronisation, as bytes.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a declaration; the first is its length in bytes.
const WORDS: usize = 176;
/// Most bytes of a declaration.
pub const DECLARATION_BYTES: usize = (WORDS - 1) * size_of::<u64>();

/// A declaration: written by its PE before the first synchronisation, read by others after it.
#[repr(C)]
pub struct DeclarationWords([AtomicU64; WORDS]);

impl DeclarationWords {
    /// Without a declaration.
    pub const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; WORDS])
    }

    /// Writes a declaration, cut to [`DECLARATION_BYTES`]; the next synchronisation of the node's PEs releases it.
    pub fn store(&self, bytes: &[u8]) {
        let length = bytes.len().min(DECLARATION_BYTES);
        self.0[0].store(length as u64, Ordering::Relaxed);
        for (word, chunk) in self.0[1..].iter().zip(bytes.chunks(8)) {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            word.store(u64::from_le_bytes(padded), Ordering::Relaxed);
        }
    }

    /// Reads the declaration; None if its length is none.
    pub fn load(&self) -> Option<Vec<u8>> {
        let length = self.0[0].load(Ordering::Relaxed) as usize;
        let words = self.0[1..].iter();
        let mut bytes: Vec<u8> = words.flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
        bytes.get(..length)?;
        bytes.truncate(length);
        Some(bytes)
    }
}

impl Default for DeclarationWords {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_beyond_the_words_is_refused() {
        let words = DeclarationWords::new();
        assert_eq!(words.load(), Some(Vec::new()));
        words.store(b"nine byte");
        assert_eq!(words.load().as_deref(), Some(b"nine byte".as_slice()));
        words.0[0].store(u64::MAX, Ordering::Relaxed);
        assert_eq!(words.load(), None);
    }
}

//! Addresses as the checks keep them, so that a search of memory for pointers does not take their own for the
//! program's.

/// An address of a process, with the highest bit set, which no address has. The order stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Hidden(usize);

const HIGHEST: usize = 1 << (usize::BITS - 1);

impl Hidden {
    pub(crate) const fn of(at: usize) -> Self {
        Self(at | HIGHEST)
    }

    /// From a word of memory; None if the word is no address, but may be a hidden one.
    pub(crate) fn of_word(word: usize) -> Option<Self> {
        (word & HIGHEST == 0).then(|| Self::of(word))
    }

    pub(crate) fn address(self) -> usize {
        self.0 & !HIGHEST
    }

    /// The address `bytes` further.
    pub(crate) fn plus(self, bytes: usize) -> Self {
        Self::of(self.address().saturating_add(bytes))
    }

    /// Bytes from `start`, which is not above it.
    pub(crate) fn offset_from(self, start: Self) -> usize {
        self.0 - start.0
    }

    /// As a word, for an atomic.
    pub(crate) fn word(self) -> usize {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_address_is_no_pointer_and_keeps_its_place() {
        let (low, high) = (Hidden::of(0x1000), Hidden::of(0x2008));
        assert!(low < high);
        assert_eq!(high.offset_from(low), 0x1008);
        assert_eq!(high.address(), 0x2008);
        assert_eq!(low.plus(0x1008), high);
        assert_eq!(Hidden::of_word(high.address()), Some(high));
        assert_eq!(Hidden::of_word(high.word()), None);
    }
}

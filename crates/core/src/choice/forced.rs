//! The choices that the user forces by `SHMEM_<COLLECTIVE>_ALGORITHM`.

use super::algorithm::Choice;
use super::collective::Collective;

/// The forced choice of each collective, if there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forced([Option<Choice>; Collective::ALL.len()]);

impl Forced {
    /// The forced choice of `collective`.
    pub fn of(&self, collective: Collective) -> Option<Choice> {
        self.0[collective as usize]
    }

    /// The same with `choice` forced for `collective`.
    pub fn with(mut self, collective: Collective, choice: Choice) -> Self {
        self.0[collective as usize] = Some(choice);
        self
    }

    /// All of it in one word, not 0, so that PEs can compare.
    pub(super) fn word(&self) -> u64 {
        let codes = self.0.iter().map(|c| c.map_or(0, Choice::code));
        codes.fold(1, |word, code| word << CODE_BITS | u64::from(code))
    }

    /// The first collective for which two [`word`](Self::word)s differ.
    pub(super) fn difference(word: u64, other: u64) -> Option<Collective> {
        let last = Collective::ALL.len() - 1;
        let code = |word: u64, i: usize| word >> ((last - i) as u32 * CODE_BITS) & CODE;
        let index = (0..=last).find(|i| code(word, *i) != code(other, *i))?;
        Some(Collective::ALL[index])
    }
}

/// Bits of a choice's code.
const CODE_BITS: u32 = 7;
const CODE: u64 = (1 << CODE_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_where_choices_differ() {
        let none = Forced::default();
        assert_ne!(none.word(), 0);
        assert_eq!(Forced::difference(none.word(), none.word()), None);
        for collective in Collective::ALL {
            for choice in collective.choices() {
                let word = none.with(collective, *choice).word();
                assert_eq!(Forced::difference(none.word(), word), Some(collective));
                assert!(word >> 57 == 0);
            }
        }
    }
}

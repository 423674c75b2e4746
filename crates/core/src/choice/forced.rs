//! WaitReason the user forces by `SHMEM_<COLLECTIVE>_ALGORITHM`.

use super::algorithm::Choice;
use super::collective::Collective;
use crate::env::Variable;

/// The forced choice of each collective, if there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forced([Option<Choice>; Collective::ALL.len()]);

impl Forced {
    /// WaitReason the environment forces. The error is one line for the user, which lists the
    /// names that are valid.
    pub fn from_environment() -> Result<Self, String> {
        Self::read(|variable| variable.get())
    }

    fn read(value: impl Fn(&Variable) -> Option<String>) -> Result<Self, String> {
        let mut forced = Self::default();
        for collective in Collective::ALL {
            let Some(text) = value(&collective.variable()) else {
                continue;
            };
            let name = text.trim().to_ascii_lowercase();
            if name.is_empty() || name == "auto" {
                continue;
            }
            let choice = collective.choice(&name);
            forced.0[collective as usize] = Some(choice.ok_or_else(|| unknown(collective, &text))?);
        }
        Ok(forced)
    }

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

/// The line for a name that `collective` has no algorithm of.
fn unknown(collective: Collective, text: &str) -> String {
    let names: Vec<String> = (collective.choices().iter())
        .map(ToString::to_string)
        .collect();
    format!(
        "{}: \"{text}\" is no algorithm of {}: give auto, {}",
        collective.variable().name,
        collective.name(),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::super::algorithm::Algorithm;
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Result<Forced, String> {
        Forced::read(|v| (v.name == name).then(|| value.to_owned()))
    }

    #[test]
    fn auto_forces_nothing() {
        for value in ["auto", "", "  ", "Auto"] {
            assert_eq!(read("SHMEM_REDUCE_ALGORITHM", value), Ok(Forced::default()));
        }
    }

    #[test]
    fn names_force() {
        let forced = read("SHMEM_REDUCE_ALGORITHM", " RSAG:putget ").unwrap();
        let choice = Choice::putget(Algorithm::Rabenseifner);
        assert_eq!(forced.of(Collective::Reduce), Some(choice));
        assert_eq!(forced.of(Collective::Scan), None);
    }

    #[test]
    fn unknown_names_list_the_valid_ones() {
        let line = read("SHMEM_REDUCE_ALGORITHM", "ring").unwrap_err();
        assert_eq!(
            line,
            "SHMEM_REDUCE_ALGORITHM: \"ring\" is no algorithm of reduce: give auto, eager, \
             flat:ptr, flat:putget, rd:ptr, rd:putget, bruck:ptr, bruck:putget, rsag:ptr, \
             rsag:putget, slices"
        );
        let line = read("SHMEM_SCAN_ALGORITHM", "slices:ptr").unwrap_err();
        assert!(line.ends_with("of scan: give auto, eager, pull, slices"));
    }

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

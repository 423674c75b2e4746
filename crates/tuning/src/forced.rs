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
}

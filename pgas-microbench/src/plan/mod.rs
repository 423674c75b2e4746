//! What is run, in which order.

mod microbench;
mod nas;
mod run;
mod stream;

pub use run::{Class, Run, Suite};

use crate::implementation::{Family, Implementation};

/// How thoroughly is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Some minutes.
    Quick,
    /// All sizes, all numbers of PEs, more samples.
    Full,
}

/// What is asked for, and where.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// How thoroughly.
    pub mode: Mode,
    /// Classes of the NAS benchmarks; none: those that the mode has time for.
    pub classes: &'a [Class],
    /// The libraries.
    pub implementations: &'a [Implementation],
    /// Cores of this machine.
    pub cores: u32,
}

impl Request<'_> {
    /// Places of the implementations that `suits`.
    fn those(&self, suits: impl Fn(Family) -> bool) -> Vec<usize> {
        let all = self.implementations.iter().enumerate();
        all.filter(|(_, one)| suits(one.family))
            .map(|(place, _)| place)
            .collect()
    }

    fn family(&self, place: usize) -> Family {
        self.implementations[place].family
    }

    fn quick(&self) -> bool {
        self.mode == Mode::Quick
    }
}

/// All runs. Those that are to be compared follow each other, so that they find the machine in the
/// same state.
pub fn plan(request: &Request<'_>) -> Vec<Run> {
    let mut runs = microbench::plan(request);
    runs.extend(stream::plan(request));
    runs.extend(nas::plan(request));
    runs
}

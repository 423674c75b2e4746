//! The runs of a report, in order.

mod graph500;
mod microbench;
mod nas;
mod overlap;
mod python;
mod run;
mod stream;

pub(crate) use microbench::WORKERS;
pub use run::{Class, Run, Suite};

use crate::implementation::{Family, Implementation};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Some minutes.
    Quick,
    /// All sizes, all numbers of PEs, more samples.
    Full,
}

/// What the user asks for, and the machine that it runs on.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// How much is measured.
    pub mode: Mode,
    /// Classes of the NAS benchmarks; if empty, those that fit the time of the mode.
    pub classes: &'a [Class],
    /// The libraries.
    pub implementations: &'a [Implementation],
    /// Cores of this machine.
    pub cores: u32,
}

impl Request<'_> {
    /// Indices of the implementations of some families.
    fn indices(&self, wanted: impl Fn(Family) -> bool) -> Vec<usize> {
        let all = self.implementations.iter().enumerate();
        all.filter(|(_, one)| wanted(one.family)).map(|(index, _)| index).collect()
    }

    fn family(&self, index: usize) -> Family {
        self.implementations[index].family
    }

    fn quick(&self) -> bool {
        self.mode == Mode::Quick
    }
}

/// All runs. Runs that will be compared follow each other, so that they find the machine in the same
/// state.
pub fn plan(request: &Request<'_>) -> Vec<Run> {
    let mut runs = microbench::plan(request);
    runs.extend(overlap::plan(request));
    runs.extend(python::plan(request));
    runs.extend(stream::plan(request));
    runs.extend(nas::plan(request));
    runs.extend(graph500::plan(request));
    runs
}

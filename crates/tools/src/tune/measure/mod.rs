//! What the PEs of a measuring job do: `oshtune` starts itself under `oshrun`, and PE 0
//! prints a [`Finding`] per line.

mod buffer;
mod copies;
mod distances;
mod finding;
mod probe;
mod trial;

use std::io::{self, Write};
use std::time::Duration;

use clap::ValueEnum;
use ferroshmem_api::setup;

use super::schedule::Depth;

pub(super) use finding::{CopyPoint, Finding, Pair, Point};

/// Name of the routines that a misuse would be reported for.
const NAME: &str = "oshtune";

/// What a measuring job finds out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Task {
    /// Parameters of the cost model that need a core for each PE.
    Parameters,
    /// Flags and lines between cores, and the parameters that follow from them.
    Distances,
    /// Times of collectives.
    Collectives,
    /// Times of the methods to copy, by one PE with idle cores.
    Copies,
}

/// Runs this PE of a measuring job that should take `time`.
pub(super) fn run(task: Task, depth: Depth, time: Duration) {
    setup::init(NAME);
    let me = setup::my_pe(NAME);
    let mut out = io::stdout().lock();
    // A reader that has gone ends the job; nothing is left to say then.
    let report = |finding: Finding| {
        if me == 0 && writeln!(out, "{}", finding.line()).is_err() {
            setup::global_exit(NAME, 1);
        }
    };
    match task {
        Task::Parameters => probe::run(depth, report),
        Task::Distances => distances::run(depth, time, report),
        Task::Collectives => trial::run(depth, time, report),
        Task::Copies => copies::run(depth, time, report),
    }
    setup::finalize(NAME);
}

//! Programs that do something wrong, and how their jobs must end: within seconds, with a line that
//! names the cause, and with a non-zero status.

mod early_exits;
mod faults;
mod misuse;
mod panics;

use std::time::Duration;

use anyhow::{Result, ensure};
use ferroshmem::Error;
use ferroshmem_conformance::Outcome;
use ferroshmem_conformance::job::shell_status;

use crate::Program;

/// Longest time that a failing job may take.
pub(crate) const WITHIN: Duration = Duration::from_secs(10);

/// A program, the number of its PEs, and how the job ends.
pub(crate) struct Failure {
    pub program: Program,
    pub pes: usize,
    pub expect: Expect,
}

impl Failure {
    const fn new(name: &'static str, run: fn() -> Result<(), Error>, pes: usize, expect: Expect) -> Self {
        Self { program: Program::new(name, run), pes, expect }
    }
}

/// How a job ends.
pub(crate) enum Expect {
    /// With one line of the library, which names two PEs and contains this, and status 1.
    Misuse(&'static str),
    /// With the message of a panic, once, and status 101.
    Panic,
    /// By SIGSEGV, and with one line of the library that has this place, or none.
    Fault(Option<&'static str>),
    /// With a status.
    Status(i32),
    /// With status 1, and this on standard error, among other lines or not.
    Error(&'static str),
}

/// Message of the programs' panics.
const MESSAGE: &str = "as the test demands";

impl Expect {
    /// Compares with the outcome.
    ///
    /// # Errors
    /// If it differs.
    pub(crate) fn verify(&self, outcome: &Outcome) -> Result<()> {
        let status = shell_status(outcome.status);
        let lines = outcome.stderr.lines();
        let reports = Vec::from_iter(lines.filter(|line| line.starts_with("ferroshmem: PE ")));
        ensure!(!outcome.hung, "hangs\n{outcome}");
        ensure!(outcome.left == 0, "{} outlived it\n{outcome}", outcome.left);
        match self {
            Self::Misuse(part) => {
                ensure!(status == 1, "status {status}\n{outcome}");
                let [line] = reports[..] else {
                    anyhow::bail!("{} lines\n{outcome}", reports.len());
                };
                ensure!(line.contains(part), "not about {part}\n{outcome}");
                ensure!(pes_in(line) == 2, "names other than two PEs\n{outcome}");
            }
            Self::Panic => {
                ensure!(status == 101, "status {status}\n{outcome}");
                let messages = outcome.stderr.matches(MESSAGE).count();
                ensure!(messages == 1, "{messages} messages\n{outcome}");
                let others = reports.iter().filter(|line| !line.ends_with(" has panicked; ends the job"));
                ensure!(others.count() == 0, "reports of others\n{outcome}");
                ensure!(reports.len() <= 1, "{} PEs have panicked\n{outcome}", reports.len());
            }
            Self::Fault(place) => {
                ensure!(status == 139, "status {status}\n{outcome}");
                ensure!(reports.len() == usize::from(place.is_some()), "{} lines\n{outcome}", reports.len());
                let has = |part: &str| reports.iter().all(|line| line.contains(part));
                ensure!(place.is_none_or(|place| has(place) && has("::put: segmentation fault at 0x40")), "{outcome}");
            }
            Self::Status(expected) => {
                ensure!(status == *expected, "status {status}\n{outcome}");
            }
            Self::Error(part) => {
                ensure!(status == 1, "status {status}\n{outcome}");
                let reported = outcome.stderr.contains(part) && reports.len() <= 1;
                ensure!(reported, "not reported once\n{outcome}");
            }
        }
        Ok(())
    }
}

/// Number of PEs that a line names.
fn pes_in(line: &str) -> usize {
    let numbers = line.split("PE ").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        rest[..end].parse::<usize>().ok()
    });
    std::collections::BTreeSet::from_iter(numbers).len()
}

/// All failures.
pub(crate) const FAILURES: &[&[Failure]] =
    &[misuse::FAILURES, panics::FAILURES, early_exits::FAILURES, faults::FAILURES];

//! How a job with a fault must end: status, one line, at once, nothing left.

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_conformance::leftovers::Machine;
use ferroshmem_conformance::suite::Setting;
use ferroshmem_conformance::{Job, Outcome};

/// From the fault to the end of the job.
pub(crate) const GONE_WITHIN_MS: u64 = 1000;
/// A loaded machine may take longer than [`GONE_WITHIN_MS`] once, not this often.
pub(crate) const ATTEMPTS: usize = 4;
/// The status a job must end with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Status {
    Is(i32),
    NonZero,
}

/// Runs the job until it has ended fast enough once; it must end rightly every time.
pub(crate) fn expect(s: &Setting, job: &Job, status: Status, words: &[&str]) -> Result<()> {
    let before = Machine::now();
    let mut took = 0;
    for _ in 0..ATTEMPTS {
        let outcome = job.run(&s.prefix, &s.scratch)?;
        ended_rightly(&outcome, status, words)?;
        let left = before.left_files();
        ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
        let fault = fault_time(&outcome).context("the program did not come to its fault")?;
        took = outcome.ended_ms.saturating_sub(fault);
        if took <= GONE_WITHIN_MS {
            return Ok(());
        }
    }
    bail!("gone only {took} ms after the fault, {ATTEMPTS} times over {GONE_WITHIN_MS} ms")
}

/// Status, one line with the words (or none), no process left.
pub(crate) fn ended_rightly(outcome: &Outcome, status: Status, words: &[&str]) -> Result<()> {
    outcome.ended_saying(
        match status {
            Status::Is(status) => Some(status),
            Status::NonZero => None,
        },
        words,
    )
}

/// When the PE at fault came to its fault (the last to say so).
pub(crate) fn fault_time(outcome: &Outcome) -> Option<u64> {
    let times = outcome.stdout.lines().filter_map(|l| l.split("FAULT_AT ").nth(1)?.trim().parse().ok());
    times.max()
}

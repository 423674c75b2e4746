//! Jobs for the machines, and how they end.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::time::Duration;

/// Folder of the jobs' output, below the machines' folder.
pub(super) const FOLDER: &str = "jobs";

/// PEs to run together; their numbers are their places in the list.
#[derive(Debug, Clone)]
pub struct Job {
    /// The PEs.
    pub pes: Vec<Pe>,
    /// Ends the job when it takes longer.
    pub timeout: Duration,
}

impl Job {
    /// The same command for `n` PEs, the first of them on machine 0, and so on: as many on each
    /// machine, or one more on the first ones. A minute long at most.
    pub fn same(n: usize, machines: usize, command: &[OsString]) -> Self {
        let pe = |rank: usize| Pe {
            machine: rank * machines.min(n) / n,
            command: command.to_vec(),
            environment: Vec::new(),
        };
        Self { pes: (0..n).map(pe).collect(), timeout: Duration::from_secs(60) }
    }

    /// Sets a variable for all PEs.
    pub fn env(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        let pair = (name.into(), value.into());
        for pe in &mut self.pes {
            pe.environment.push(pair.clone());
        }
        self
    }
}

/// A PE of a job.
#[derive(Debug, Clone)]
pub struct Pe {
    /// The machine to run on, from 0.
    pub machine: usize,
    /// Program, as the path that it has here, and arguments.
    pub command: Vec<OsString>,
    /// Variables to set beside `PATH`, `HOME` and those of PMI.
    pub environment: Vec<(OsString, OsString)>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(status) => write!(f, "exited with status {status}"),
            Self::Killed(signal) => write!(f, "was ended by signal {signal}"),
        }
    }
}

/// A PE that has ended.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How.
    pub end: End,
    /// Everything it printed.
    pub stdout: String,
    /// Everything it printed as errors.
    pub stderr: String,
}

/// A job that has ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The PEs, by number.
    pub pes: Vec<Ended>,
    /// Why the cluster ended PEs, if it did.
    pub stopped: Option<String>,
    /// From start to end of the PEs, without the boot of the machines.
    pub time: Duration,
}

impl Outcome {
    /// Whether all PEs ended with status 0, by themselves.
    pub fn success(&self) -> bool {
        self.stopped.is_none() && self.pes.iter().all(|pe| pe.end == End::Exited(0))
    }
}

impl fmt::Display for Outcome {
    /// What the PEs printed and how they ended, for the user to see what went wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rank, pe) in self.pes.iter().enumerate() {
            for line in pe.stdout.lines().chain(pe.stderr.lines()) {
                writeln!(f, "[{rank}] {line}")?;
            }
            if pe.end != End::Exited(0) {
                writeln!(f, "PE {rank} {}", pe.end)?;
            }
        }
        match &self.stopped {
            Some(reason) => writeln!(f, "the job was ended: {reason}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machines(n: usize, machines: usize) -> Vec<usize> {
        let job = Job::same(n, machines, &[]);
        job.pes.iter().map(|pe| pe.machine).collect()
    }

    #[test]
    fn pes_are_spread_in_blocks() {
        assert_eq!(machines(2, 2), [0, 1]);
        assert_eq!(machines(4, 2), [0, 0, 1, 1]);
        assert_eq!(machines(1, 2), [0]);
        assert_eq!(machines(3, 2), [0, 0, 1]);
    }
}

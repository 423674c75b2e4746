//! Runs sequences, and shrinks those that fail.

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::sequence::{Place, Sequence};
use super::shrink::{self, LeftOut};
use crate::cluster::{Clusters, TestCluster};
use crate::job::Outcome;
use crate::prefix::Prefix;

/// Runs that shrinking a sequence takes at most, and the time after which it tries no further one.
const MOST_RUNS: usize = 300;
const MOST_TIME: Duration = Duration::from_secs(300);

/// A failure that does not come with every run is given so many.
const REPEATS: usize = 3;

/// When a job hangs, while it is shrunk: it has ended within a second before.
const SHRINKING_WATCHDOG: Duration = Duration::from_secs(20);

/// A shell's status of a process that SIGKILL has ended.
const KILLED: i32 = 128 + 9;

/// What runs sequences.
#[derive(Debug)]
pub struct Campaign {
    /// The installation under test.
    pub prefix: Prefix,
    /// Folder of the compiled program.
    pub cache: PathBuf,
    /// Folder of output files.
    pub scratch: PathBuf,
    /// Hosts for sequences that want some.
    pub clusters: Clusters,
    /// Whether sequences that fail are shrunk.
    pub shrinks: bool,
}

/// A sequence that fails.
#[derive(Debug)]
pub struct Finding {
    /// The sequence.
    pub sequence: Sequence,
    /// What can be left out of it.
    pub left_out: LeftOut,
    /// How it fails, in one line: the first difference, or how the job ended.
    pub failure: String,
    /// All output of the shortest run that failed.
    pub output: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.failure)?;
        writeln!(f, "  {}", self.sequence)?;
        if let Place::Node = self.sequence.place {
            writeln!(f, "  shrunk: {}", self.sequence.command("fuzz", &self.left_out))?;
        } else {
            writeln!(f, "  shrunk: what can be left out: drop {}", self.left_out)?;
        }
        write!(f, "{}", self.output.trim_end())
    }
}

impl Campaign {
    /// Runs a sequence; if it fails, shrinks it.
    ///
    /// # Errors
    /// If the program does not compile, or the job cannot be started.
    pub fn run(&self, sequence: &Sequence) -> Result<Option<Finding>> {
        let whole = LeftOut::default();
        let watchdog = Duration::from_secs(300);
        let outcome = self.once(sequence, &whole, watchdog)?;
        let Some(failure) = failure(sequence, &outcome) else {
            return Ok(None);
        };
        eprintln!("fails: {failure}");
        let mut shorter = sequence.clone();
        let last = step_of(&failure).unwrap_or(sequence.steps.saturating_sub(1));
        shorter.steps = last + 1;
        let mut finding =
            Finding { sequence: sequence.clone(), left_out: whole.clone(), failure, output: outcome.to_string() };
        if !self.shrinks {
            return Ok(Some(finding));
        }
        let begin = Instant::now();
        let mut fails = |left_out: &LeftOut| {
            if begin.elapsed() > MOST_TIME {
                return false;
            }
            let outcome = self.repeat(&shorter, left_out);
            let Some((failure, output)) = outcome else {
                return false;
            };
            finding.failure = failure;
            finding.output = output;
            true
        };
        if fails(&whole) {
            let left_out = shrink::shrink(last, MOST_RUNS, fails);
            finding.sequence = shorter;
            finding.left_out = left_out;
        }
        Ok(Some(finding))
    }

    /// How a sequence fails, if it does so in one of some runs.
    fn repeat(&self, sequence: &Sequence, left_out: &LeftOut) -> Option<(String, String)> {
        (0..REPEATS).find_map(|_| {
            let outcome = self.once(sequence, left_out, SHRINKING_WATCHDOG).ok()?;
            Some((failure(sequence, &outcome)?, outcome.to_string()))
        })
    }

    fn once(&self, sequence: &Sequence, left_out: &LeftOut, watchdog: Duration) -> Result<Outcome> {
        let mut job = sequence.job(&self.prefix, &self.cache, left_out)?;
        job.watchdog = watchdog;
        let Place::Hosts(launch, links) = sequence.place else {
            return job.run(&self.prefix, &self.scratch);
        };
        let mut cluster = self.clusters.take()?;
        let impair = |cluster: &TestCluster| match links {
            Some(how) => cluster.cluster.impair("a", how),
            None => Ok(()),
        };
        impair(&cluster)?;
        let outcome = cluster.run(launch, &job)?;
        if links.is_some() {
            cluster.cluster.clear("a")?;
        }
        // A launcher that was killed may have left more than processes.
        if !outcome.hung {
            self.clusters.give(cluster);
        }
        Ok(outcome)
    }
}

/// How a job failed, in one line.
fn failure(sequence: &Sequence, outcome: &Outcome) -> Option<String> {
    let line = |text: &str, start: &str| {
        let mut lines = text.lines().map(str::trim);
        lines.find(|line| line.contains(start)).map(str::to_owned)
    };
    let stderr = &outcome.stderr;
    if let Some(difference) = line(stderr, "fuzz: seed ") {
        return Some(difference);
    }
    if outcome.hung {
        return Some("hangs: ended by the watchdog".to_owned());
    }
    let has_compared = outcome.stdout.contains(": no difference");
    // srun has the greatest status of all PEs: that of those that were killed.
    let loses = sequence.loses && matches!(sequence.place, Place::Hosts(..)) && has_compared;
    let is_well = outcome.status.success() || loses && outcome.status.code() == Some(KILLED);
    if !is_well {
        let message = line(stderr, "FerroSHMEM").or_else(|| line(stderr, ""));
        return Some(format!("{}: {}", outcome.status, message.unwrap_or_default()));
    }
    if outcome.left != 0 {
        return Some(format!("{} processes outlived the job", outcome.left));
    }
    (!has_compared).then(|| "ends well without having compared anything".to_owned())
}

/// The step in which a difference was found.
fn step_of(failure: &str) -> Option<usize> {
    let (_, rest) = failure.split_once(", step ")?;
    rest.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_their_step() {
        let line = "fuzz: seed 7, step 12.3: PE 1 of 4: shmem_int_put: expected 01, found 00";
        assert_eq!(step_of(line), Some(12));
        assert_eq!(step_of("hangs: ended by the watchdog"), None);
    }
}

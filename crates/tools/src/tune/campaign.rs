//! Measuring this machine: one job after the other, by the `oshrun` beside this program.

use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use ferroshmem_config::{
    self as config, self, NON_TEMPORAL_THRESHOLD, OFFLOAD_THRESHOLD, SHARE_THRESHOLD, TUNING_FILE, WORKERS,
};
use ferroshmem_platform::child::end_with_parent;
use ferroshmem_tuning::{Collective, Parameters, Shape};

use super::measure::{CopyPoint, Finding, Pair, Point, Task};
use super::quietness::Quietness;
use super::schedule::Depth;

/// Why measuring failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum CampaignError {
    #[error("measured {name} = {value}")]
    BadParameter { name: String, value: f64 },
    #[error("a job measured {0}, which is unknown")]
    UnknownParameter(String),
    #[error("cannot find this program's file: {0}")]
    NoProgramFile(io::Error),
    #[error("{} is missing: oshtune needs the oshrun that it was installed with", .0.display())]
    NoOshrun(PathBuf),
    #[error("cannot start {}: {error}", .oshrun.display())]
    NotStarted { oshrun: PathBuf, error: io::Error },
    #[error("cannot read the job's output: {0}")]
    Output(io::Error),
    #[error("the job of {pes} PEs printed \"{line}\"")]
    UnknownLine { pes: usize, line: String },
    #[error("cannot wait for the job: {0}")]
    Wait(io::Error),
    #[error("the job of {pes} PEs failed: {status}")]
    Failed { pes: usize, status: ExitStatus },
}

/// What to measure.
#[derive(Debug)]
pub(super) struct Campaign {
    /// How thoroughly.
    pub depth: Depth,
    /// Numbers of PEs.
    pub counts: Vec<usize>,
    /// Time for all of it, about.
    pub time: Duration,
    /// Cores of this machine.
    pub cores: usize,
}

/// What was measured.
#[derive(Debug)]
pub(super) struct Measured {
    /// Parameters of the cost model.
    pub parameters: Parameters,
    /// Times of copies.
    pub copies: Vec<CopyPoint>,
    /// Times between every two cores.
    pub pairs: Vec<Pair>,
    /// Times of collectives, for each number of PEs.
    pub times: Vec<JobTimes>,
    /// How quiet the machine was.
    pub quietness: Quietness,
}

/// Times of collectives in one job.
#[derive(Debug)]
pub(super) struct JobTimes {
    /// Its PEs, and the sockets that they were on.
    pub shape: Shape,
    /// Times of all collectives.
    pub points: Vec<Point>,
}

impl JobTimes {
    /// Those of one collective.
    pub(super) fn of(&self, collective: Collective) -> Vec<Point> {
        let points = self.points.iter().copied();
        points.filter(|p| p.collective == collective).collect()
    }
}

impl Campaign {
    /// Runs all jobs.
    ///
    /// # Errors
    /// If a job fails.
    pub(super) fn run(&self) -> Result<Measured, CampaignError> {
        let mut progress = Progress::new(self.counts.len() + 3);
        let mut quietness = Quietness::new();
        let mut parameters = Parameters::default_for(self.cores);
        // PEs that must share a core measure the scheduler, not the flag.
        let all = self.cores.max(1);
        let arguments = self.arguments(Task::Parameters, Duration::ZERO);
        let of_cores = quietness.watch(all, || self.job(all, &arguments, self.time, &mut progress))?;
        progress.next();
        let time = self.time / 10;
        let arguments = self.arguments(Task::Distances, time);
        // Each PE on one hardware thread, of which a core may have several.
        let job = Job { pes: all, binding: "hwthread", variables: &[] };
        let between_cores = quietness.watch(all, || job.run(&arguments, time, &mut progress))?;
        let mut pairs = Vec::new();
        for finding in of_cores.into_iter().chain(between_cores) {
            match finding {
                Finding::Parameter(name, value) => {
                    if !(value.is_finite() && value > 0.0) {
                        return Err(CampaignError::BadParameter { name, value });
                    }
                    let Some(parameter) = parameters.named(&name) else {
                        return Err(CampaignError::UnknownParameter(name));
                    };
                    *parameter = value;
                }
                Finding::Pair(pair) => pairs.push(pair),
                _ => {}
            }
        }
        let start = Instant::now();
        progress.next();
        let copies = self.copies(&mut progress, &mut quietness)?;
        let mut times = Vec::new();
        for (i, count) in self.counts.iter().enumerate() {
            progress.next();
            let left = self.time.saturating_sub(start.elapsed());
            let time = left / (self.counts.len() - i) as u32;
            let arguments = self.arguments(Task::Collectives, time);
            let job = || self.job(*count, &arguments, time, &mut progress);
            let mut of_job = JobTimes { shape: (*count).into(), points: Vec::new() };
            for finding in quietness.watch(*count, job)? {
                match finding {
                    Finding::Time(point) => of_job.points.push(point),
                    Finding::Shape(shape) => of_job.shape = shape,
                    _ => {}
                }
            }
            times.push(of_job);
        }
        progress.end();
        if let Some(sigma) = sigma(&times, self.cores) {
            parameters.sigma = sigma;
        }
        Ok(Measured { parameters, copies, pairs, times, quietness })
    }

    /// Times of the methods to copy, by a PE that has all cores, and workers on those that idle. All methods are taken
    /// at every size, but no plain copy goes past the caches.
    fn copies(&self, progress: &mut Progress, quietness: &mut Quietness) -> Result<Vec<CopyPoint>, CampaignError> {
        let time = self.time / 10;
        let workers = self.cores.saturating_sub(1).to_string();
        let variables = [
            (WORKERS.name, workers.as_str()),
            (SHARE_THRESHOLD.name, "1"),
            (OFFLOAD_THRESHOLD.name, "1"),
            (NON_TEMPORAL_THRESHOLD.name, "1024g"),
        ];
        let job = Job { pes: 1, binding: "none", variables: &variables };
        let arguments = self.arguments(Task::Copies, time);
        let findings = quietness.watch(1, || job.run(&arguments, time, progress))?;
        let copies = findings.into_iter().filter_map(|finding| match finding {
            Finding::Copy(point) => Some(point),
            _ => None,
        });
        Ok(copies.collect())
    }

    /// Runs a job of `pes` PEs; what it reports. Where there are cores enough, each PE keeps
    /// one: two that share one for a while would spoil the times.
    fn job(
        &self,
        pes: usize,
        arguments: &[String],
        time: Duration,
        progress: &mut Progress,
    ) -> Result<Vec<Finding>, CampaignError> {
        let binding = if pes <= self.cores { "core" } else { "none" };
        let job = Job { pes, binding, variables: &[] };
        job.run(arguments, time, progress)
    }

    fn arguments(&self, task: Task, time: Duration) -> Vec<String> {
        let task = task.to_possible_value().expect("no task is hidden");
        let mut arguments = vec![format!("--measure={}", task.get_name())];
        arguments.push(format!("--time={}", time.as_secs_f64()));
        if self.depth == Depth::Quick {
            arguments.push("--quick".to_owned());
        }
        arguments
    }
}

/// Nanoseconds to schedule a PE, from the fastest barriers of PEs that outnumber cores: each
/// takes one turn of every PE. The least of several numbers of PEs: other work on the machine
/// takes turns, too.
fn sigma(times: &[JobTimes], cores: usize) -> Option<f64> {
    let oversubscribed = times.iter().filter(|times| times.shape.size > cores);
    let turns = oversubscribed.filter_map(|times| {
        let barriers = times.of(Collective::Barrier).into_iter();
        let best = barriers.map(|p| p.time).min_by(f64::total_cmp)?;
        Some(best * cores as f64 / times.shape.size as f64)
    });
    turns.min_by(f64::total_cmp)
}

/// This program as a job.
struct Job<'a> {
    pes: usize,
    binding: &'a str,
    variables: &'a [(&'a str, &'a str)],
}

impl Job<'_> {
    /// Runs it; what it reports.
    fn run(
        &self,
        arguments: &[String],
        time: Duration,
        progress: &mut Progress,
    ) -> Result<Vec<Finding>, CampaignError> {
        /// A job that takes this much longer than its share of the time hangs.
        const HANGS_AFTER: Duration = Duration::from_secs(60);

        let pes = self.pes;
        let myself = std::env::current_exe().map_err(CampaignError::NoProgramFile)?;
        let oshrun = beside(&myself)?;
        let mut command = Command::new(&oshrun);
        config::isolate(&mut command, &[]);
        let limit = time * 3 + HANGS_AFTER;
        end_with_parent(&mut command);
        let mut child = command
            .env(TUNING_FILE.name, "")
            .envs(self.variables.iter().copied())
            .args(["-n", &pes.to_string(), "--bind-to", self.binding])
            .args(["--timeout", &limit.as_secs().to_string()])
            .arg(&myself)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| CampaignError::NotStarted { oshrun, error })?;
        let output = child.stdout.take().expect("stdout is a pipe");
        let mut findings = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.map_err(CampaignError::Output)?;
            match serde_json::from_str(&line) {
                Ok(Finding::Progress(done, all)) => progress.show(pes, done, all),
                Ok(finding) => findings.push(finding),
                Err(_) => {
                    // oshrun and its PEs end with it; an error of these calls would hide the cause.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(CampaignError::UnknownLine { pes, line });
                }
            }
        }
        let status = child.wait().map_err(CampaignError::Wait)?;
        if status.success() { Ok(findings) } else { Err(CampaignError::Failed { pes, status }) }
    }
}

/// The `oshrun` in the folder of `myself`.
fn beside(myself: &std::path::Path) -> Result<PathBuf, CampaignError> {
    let oshrun = myself.with_file_name("oshrun");
    if !oshrun.exists() {
        return Err(CampaignError::NoOshrun(oshrun));
    }
    Ok(oshrun)
}

/// A line on a terminal that shows the progress.
struct Progress {
    jobs: usize,
    done: usize,
    shown: bool,
}

impl Progress {
    fn new(jobs: usize) -> Self {
        Self { jobs, done: 0, shown: io::stderr().is_terminal() }
    }

    fn next(&mut self) {
        self.done += 1;
    }

    fn show(&self, pes: usize, done: usize, all: usize) {
        if self.shown {
            let job = self.done + 1;
            let percent = 100 * done / all.max(1);
            let mut out = io::stderr().lock();
            // A progress line that cannot be written is no error.
            let _ = write!(out, "\rjob {job} of {}: {pes} PEs, {percent:3} %  ", self.jobs);
            let _ = out.flush();
        }
    }

    fn end(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r{:60}\r", "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sigma_is_a_turn() {
        let barrier = |choice, time| Point {
            collective: Collective::Barrier,
            choice: Collective::Barrier.choice(choice).unwrap(),
            bytes: 0,
            time,
        };
        let job = |pes: usize, points| JobTimes { shape: pes.into(), points };
        let times = [
            job(2, vec![barrier("central", 100.0)]),
            job(16, vec![barrier("central", 8000.0), barrier("tree", 16000.0)]),
            job(64, vec![barrier("central", 40000.0)]),
        ];
        assert!((sigma(&times, 2).unwrap() - 1000.0).abs() < 1e-6);
        assert_eq!(sigma(&times, 64), None);
    }
}

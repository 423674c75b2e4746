//! A step of `cargo xtask test`: a command with what it needs and what it takes.

use super::group::Group;
use anyhow::{Context, Result};
use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, waitid};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Status by which a script says that it lacks a tool, as in other test harnesses.
const SKIPPED: i32 = 77;

/// Why a step that a signal of the terminal has ended says nothing.
pub(super) const INTERRUPTED: &str = "interrupted while it ran";

/// A command to run once the steps that it needs have passed.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: String,
    /// Names of the steps that must have passed before.
    pub(super) needs: Vec<&'static str>,
    /// Share of the machine that the step uses: threads that compute at the same time.
    pub(super) threads: usize,
    /// No two steps that have the same resource run at the same time.
    pub(super) resource: Option<&'static str>,
    pub(super) work: Work,
}

/// What a step does.
#[derive(Debug)]
pub(super) enum Work {
    Run(Command),
    /// `cargo test --no-run --message-format=json`: each program that it builds is a further step.
    BuildTests {
        command: Command,
        /// Whether its warnings are those of the step [`LINTS`](super::programs::LINTS).
        linting: bool,
    },
    /// Nothing, for this reason.
    Skip(String),
}

impl Step {
    /// A step that needs no other one.
    pub(super) fn new(name: &str, threads: usize, work: Work) -> Self {
        Self { name: name.to_owned(), needs: Vec::new(), threads, resource: None, work }
    }

    /// The same with steps that must have passed before.
    pub(super) fn needs(mut self, steps: &[&'static str]) -> Self {
        self.needs.extend(steps);
        self
    }

    /// The same with a resource that it has for itself.
    pub(super) fn resource(mut self, resource: &'static str) -> Self {
        self.resource = Some(resource);
        self
    }
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Skipped(String),
}

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Passed,
            Some(SKIPPED) => Self::Skipped("see its output above".to_owned()),
            // The terminal sends it to the step, too, maybe before this program has noticed its own.
            None if status.signal() == Some(Signal::INT.as_raw()) => Self::Skipped(INTERRUPTED.to_owned()),
            _ => Self::Failed,
        }
    }
}

impl Outcome {
    /// A step that passed, by what it printed: skipped if it left trials out and ran none. The standard harness counts
    /// a test as passed that has printed why it is left out; the lines of the others come after the result.
    pub(super) fn by_output(self, output: &str) -> Self {
        let lines = || output.lines().filter(|line| !line.is_empty());
        let left_out = lines().find_map(|line| line.strip_prefix("skipped: "));
        let passed = |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<usize>().ok();
        let ran = match lines().filter_map(passed).sum() {
            0 => lines().all(|line| passed(line).is_none()) && lines().any(|line| !line.starts_with("skipped: ")),
            sum => {
                let last = output.rfind("\ntest result: ok. ").unwrap_or_default();
                output[..last].lines().filter(|line| line.starts_with("skipped: ")).count() < sum
            }
        };
        match left_out {
            Some(reason) if self == Self::Passed && !ran => Self::Skipped(reason.to_owned()),
            _ => self,
        }
    }
}

/// Why a step failed, by what it printed: what the test harness lists of the trials that failed, or else the end. At
/// most `most` lines.
pub(super) fn reasons(output: &str, most: usize) -> Vec<&str> {
    const LIST: &str = "failures:";

    let lines: Vec<&str> = output.lines().filter(|line| !line.is_empty()).collect();
    let Some(begin) = lines.iter().position(|line| *line == LIST) else {
        return lines[lines.len().saturating_sub(most)..].to_vec();
    };
    // The names follow under the same word.
    let listed = lines[begin + 1..].iter().take_while(|line| **line != LIST);
    listed.take(most).copied().collect()
}

/// The time that a command took.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) elapsed: Duration,
    /// Processor time of the command and of all its descendants; of those that were waited for, where it cannot have a
    /// control group.
    pub(super) processor: Duration,
}

/// The process of a step, while it runs.
pub(super) type Child = Arc<Mutex<Option<Pid>>>;

/// Runs a command to its end, with standard output to `stdout` and standard error to `stderr`. `running` is
/// its process meanwhile.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(command: &mut Command, stdout: File, stderr: File, running: &Child) -> Result<(ExitStatus, Times)> {
    let begin = Instant::now();
    let program = command.get_program().to_owned();
    let group = Group::new().filter(|group| group.take(command).is_ok());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .with_context(|| format!("cannot run {}", program.display()))?;
    // /proc has the processor time of a process and its descendants until the process is reaped.
    let id = Pid::from_child(&child);
    let set = |id| *running.lock().unwrap_or_else(PoisonError::into_inner) = id;
    set(Some(id));
    let ended = waitid(WaitId::Pid(id), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let of_all = group.as_ref().and_then(Group::used);
    let of_descendants = || ended.ok().and_then(|_| processor_time(id));
    let processor = of_all.or_else(of_descendants).unwrap_or_default();
    // From here on, the number may become another process's.
    set(None);
    let status = child.wait()?;
    let elapsed = begin.elapsed();
    Ok((status, Times { elapsed, processor }))
}

/// Processor time of a process and of its descendants that were waited for.
fn processor_time(id: Pid) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    let ticks = ticks(&stat)?;
    Some(Duration::from_millis(ticks * 1000 / clock_ticks_per_second().max(1)))
}

/// The sum of utime, stime, cutime and cstime of a line of `/proc/PID/stat`.
fn ticks(stat: &str) -> Option<u64> {
    // The second field, the program's name in parentheses, may hold blanks and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let times = fields.split_whitespace().skip(11).take(4);
    times.map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// The name of the file that keeps a step's output.
pub(super) fn output_file(folder: &Path, step: &str) -> std::path::PathBuf {
    folder.join(format!("{}.txt", step.replace(['/', ' '], "-")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_includes_descendants() {
        let line = "7 (a (b) c) Z 1 7 7 0 -1 4 0 0 0 0 10 2 300 40 20 0 1 0 5 0 0";
        assert_eq!(ticks(line), Some(352));
    }

    #[test]
    fn processor_time_includes_orphans() {
        // It computes for ten ticks, lets the step end, and outlives it.
        let orphan = "until [ $(cut -d ' ' -f 14 /proc/$$/stat) -ge 10 ]; do
            i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done
        done; exec 1>&-; sleep 0.5";
        let mut command = Command::new("sh");
        command.args(["-c", ": $(sh -c \"$1\" &)", "sh", orphan]);
        if Group::new().is_none() {
            println!("skipped: this user cannot make control groups");
            return;
        }
        let file = || tempfile::tempfile().unwrap();
        let (status, times) = run(&mut command, file(), file(), &Child::default()).unwrap();
        assert!(status.success());
        assert!(times.processor >= Duration::from_millis(100), "{times:?}");
    }

    #[test]
    fn reasons_are_those_of_failed_trials() {
        let harness =
            "test a ... ok\ntest b ... FAILED\n\nfailures:\n\n---- b ----\nstatus 1\nno line\n\n\nfailures:\n    b\n";
        assert_eq!(reasons(harness, 9), ["---- b ----", "status 1", "no line"]);
        assert_eq!(reasons(harness, 2), ["---- b ----", "status 1"]);
        assert_eq!(reasons("one\ntwo\nthree\n", 2), ["two", "three"]);
        assert!(reasons("", 2).is_empty());
    }

    #[test]
    fn statuses_become_outcomes() {
        let scratch = tempfile::tempdir().unwrap();
        let outcome = |script: &str| {
            let file = || File::create(scratch.path().join("output")).unwrap();
            // What a shell starts in the background ignores the signal.
            let mut command = Command::new("env");
            let command = command.args(["--default-signal=INT", "sh", "-c", script]);
            let (status, times) = run(command, file(), file(), &Child::default()).unwrap();
            assert!(times.elapsed < Duration::from_secs(60));
            Outcome::from(status)
        };
        assert_eq!(outcome("exit 0"), Outcome::Passed);
        assert_eq!(outcome("exit 1"), Outcome::Failed);
        assert!(matches!(outcome("exit 77"), Outcome::Skipped(_)));
        let interrupted = Outcome::Skipped(INTERRUPTED.to_owned());
        assert_eq!(outcome("kill -INT $$"), interrupted);
    }

    #[test]
    fn a_step_that_ran_nothing_is_skipped() {
        let of = |output: &str| Outcome::Passed.by_output(output);
        let none = "test result: ok. 0 passed; 0 failed; 9 ignored\nskipped: make is missing: 9 trials\n";
        assert_eq!(of(none), Outcome::Skipped("make is missing: 9 trials".to_owned()));
        assert_eq!(of("skipped: no QEMU\n"), Outcome::Skipped("no QEMU".to_owned()));
        let tests = "skipped: no make\ntest result: ok. 1 passed; 0 failed\n";
        assert_eq!(of(tests), Outcome::Skipped("no make".to_owned()));
        assert_eq!(of(&tests.replace('1', "2")), Outcome::Passed);
        let some = "test result: ok. 1 passed; 0 failed; 6 ignored\nskipped: g++ is missing: 6 trials\n";
        assert_eq!(of(some), Outcome::Passed);
        assert_eq!(of("test result: ok. 0 passed; 0 failed\n"), Outcome::Passed);
        assert_eq!(of("skipped: no clang\ngcc: passed\n"), Outcome::Passed);
        assert_eq!(Outcome::Failed.by_output(none), Outcome::Failed);
    }
}

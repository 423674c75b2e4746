//! Runs steps at the same time, as far as they do not depend on each other.

use super::idle::Idle;
use super::programs;
use super::progress::{Progress, counter};
use super::step::{self, Child, Outcome, Step, Times, Work};
use anyhow::{Context, Result};
use rustix::process::{Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks of the progress display.
const TICK: Duration = Duration::from_secs(1);

/// A step that prints nothing for this long hangs: test programs name each test that ends, cargo each package, and no
/// test or package takes a tenth of this on two cores.
const SILENCE: Duration = Duration::from_secs(600);

/// What a step may lack of the cores that it takes: no machine is idle as a whole.
const ROUNDING: f64 = 0.4;

/// Lines of a passed step's output that begin so are shown: what was not tested, and which
/// trials took long.
const NOTES: [&str; 4] = ["skipped", "note:", "warning:", "slow:"];

/// Set by SIGINT and SIGTERM: no step starts any more, and those that run are not waited for.
pub(super) static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A step that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) name: String,
    pub(super) outcome: Outcome,
    pub(super) times: Times,
}

/// What the scheduler needs to know of the run.
pub(super) struct Plan<'a> {
    pub(super) steps: Vec<Step>,
    /// Threads that may compute at the same time.
    pub(super) capacity: usize,
    /// The folder of the files that keep the output of steps.
    pub(super) folder: PathBuf,
    /// Whether to run the test program of this name.
    pub(super) wanted: &'a dyn Fn(&str) -> bool,
    /// The installation under test.
    pub(super) prefix: PathBuf,
    /// Whether to show the output of steps that pass.
    pub(super) verbose: bool,
    /// Whether test programs run the trials of `--fast` alone.
    pub(super) fast: bool,
}

/// A step that runs.
struct Running {
    name: String,
    threads: usize,
    resource: Option<&'static str>,
    since: Instant,
    /// Its process, once that has started and until it has ended.
    child: Child,
    /// The file that its output goes to.
    output: PathBuf,
    /// Bytes of its output, and when they became as many.
    printed: (u64, Instant),
}

impl Running {
    fn new(step: &Step, child: Child, folder: &Path) -> Self {
        let since = Instant::now();
        Self {
            name: step.name.clone(),
            threads: step.threads,
            resource: step.resource,
            since,
            child,
            output: step::output_file(folder, &step.name),
            printed: (0, since),
        }
    }

    /// Ends the step's process if it has printed nothing for `silence`, and says so in its output.
    fn end_if_silent(&mut self, silence: Duration) {
        let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let bytes = length(&self.output) + length(&messages_file(&self.output));
        if bytes != self.printed.0 {
            self.printed = (bytes, Instant::now());
        }
        if self.printed.1.elapsed() < silence {
            return;
        }
        if let Some(child) = *self.child.lock().unwrap_or_else(PoisonError::into_inner) {
            let line = format!("\nno output for {} s: the step hangs, and is ended\n", silence.as_secs());
            // Without the line, the report still says that the step failed.
            let _ =
                File::options().append(true).open(&self.output).and_then(|mut file| file.write_all(line.as_bytes()));
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

/// Where the messages of a step that builds tests go, beside its output.
fn messages_file(output: &Path) -> PathBuf {
    output.with_extension("json")
}

/// What a step's thread reports.
struct Report {
    name: String,
    outcome: Outcome,
    times: Times,
    /// What cargo said about the programs that it built, and whether it linted them.
    messages: Option<(String, bool)>,
}

/// Runs all steps; returns them in the order in which they ended.
///
/// # Errors
/// If the files for output cannot be written.
pub(super) fn run(mut plan: Plan) -> Result<Vec<Ended>> {
    fs::create_dir_all(&plan.folder).with_context(|| format!("cannot make the folder {}", plan.folder.display()))?;
    let mut waiting = mem::take(&mut plan.steps);
    let mut running: Vec<Running> = Vec::new();
    let mut ended: Vec<Ended> = Vec::new();
    let mut progress = Progress::new();
    let mut idle = Idle::new();
    let (sender, reports) = channel();
    loop {
        if INTERRUPTED.load(Ordering::Relaxed) {
            progress.clear();
            ended.extend(interrupt(waiting, &running));
            return Ok(ended);
        }
        skip_blocked(&mut waiting, &mut ended);
        while let Some(next) = next_ready(&waiting, &running, &ended, plan.capacity, idle.cores) {
            let step = waiting.remove(next);
            idle.begin();
            let child = Child::default();
            running.push(Running::new(&step, child.clone(), &plan.folder));
            start(step, child, &plan.folder, &sender)?;
        }
        if running.is_empty() {
            return Ok(ended);
        }
        let all = waiting.len() + running.len() + ended.len();
        match reports.recv_timeout(TICK) {
            Ok(report) => {
                running.retain(|step| step.name != report.name);
                progress.clear();
                show(&report, &counter(ended.len() + 1, all), &plan.folder, plan.verbose);
                if let Some((messages, linting)) = &report.messages {
                    if report.outcome == Outcome::Passed {
                        let new = programs::steps(messages, &plan, *linting)?;
                        waiting.extend(new);
                        waiting.sort_by_key(|step| !programs::takes_long(&step.name));
                    }
                    if *linting {
                        ended.push(lints(messages, &plan.folder)?);
                    }
                }
                ended.push(Ended { name: report.name, outcome: report.outcome, times: report.times });
            }
            Err(RecvTimeoutError::Timeout) => {
                for step in &mut running {
                    step.end_if_silent(SILENCE);
                }
                idle.look();
                let now: Vec<_> = running.iter().map(|step| (step.name.as_str(), step.since.elapsed())).collect();
                progress.show(ended.len(), all, &now);
            }
            Err(RecvTimeoutError::Disconnected) => unreachable!("this function has a sender"),
        }
    }
}

/// Asks the steps that run to end, as a terminal asks its foreground; says what did not run.
fn interrupt(waiting: Vec<Step>, running: &[Running]) -> Vec<Ended> {
    for step in running {
        if let Some(child) = *step.child.lock().unwrap_or_else(PoisonError::into_inner) {
            // It may have ended in this moment, or have the signal from the terminal already.
            let _ = kill_process(child, Signal::INT);
        }
    }
    let stopped = running.iter().map(|step| {
        let times = Times { elapsed: step.since.elapsed(), ..Times::default() };
        (step.name.clone(), step::INTERRUPTED, times)
    });
    let never = waiting.into_iter().map(|step| match step.work {
        Work::Skip(reason) => (step.name, reason, Times::default()),
        _ => (step.name, "interrupted before it ran".to_owned(), Times::default()),
    });
    stopped
        .map(|(name, reason, times)| (name, reason.to_owned(), times))
        .chain(never)
        .map(|(name, reason, times)| Ended { name, outcome: Outcome::Skipped(reason), times })
        .collect()
}

/// The step that the build of the test programs did beside: its warnings are that step's output.
///
/// # Errors
/// If the file for output cannot be written.
fn lints(messages: &str, folder: &Path) -> Result<Ended> {
    let (texts, number) = programs::diagnostics(messages);
    let path = step::output_file(folder, programs::LINTS);
    fs::write(&path, &texts).with_context(|| format!("cannot write {}", path.display()))?;
    let outcome = match number {
        0 => Outcome::Passed,
        _ => Outcome::Failed,
    };
    if number != 0 {
        println!("FAILED  {}; its output:\n{}", programs::LINTS, texts.trim_end());
    }
    Ok(Ended { name: programs::LINTS.to_owned(), outcome, times: Times::default() })
}

/// Ends steps that have nothing to do, and those whose needs have not passed.
fn skip_blocked(waiting: &mut Vec<Step>, ended: &mut Vec<Ended>) {
    let mut index = 0;
    while index < waiting.len() {
        let step = &waiting[index];
        let failed =
            step.needs.iter().find(|need| ended.iter().any(|e| e.name == **need && e.outcome != Outcome::Passed));
        let reason = match (&step.work, failed) {
            (_, Some(need)) => format!("{need} has not passed"),
            (Work::Skip(reason), None) => reason.clone(),
            _ => {
                index += 1;
                continue;
            }
        };
        let step = waiting.remove(index);
        ended.push(Ended { name: step.name, outcome: Outcome::Skipped(reason), times: Times::default() });
        // A step before this one may have needed it.
        index = 0;
    }
}

/// The step that may start now: the first that has what it needs. While it does not fit, no smaller one that
/// comes later takes its place: the large ones would be left for the end, where each runs by itself. While the others
/// wait, the first that needs no more cores than are idle takes these.
fn next_ready(waiting: &[Step], running: &[Running], ended: &[Ended], capacity: usize, idle: f64) -> Option<usize> {
    let used: usize = running.iter().map(|step| step.threads).sum();
    let is_ready = |step: &Step| {
        let free = step.resource.is_none() || running.iter().all(|other| other.resource != step.resource);
        free && step.needs.iter().all(|need| ended.iter().any(|e| e.name == **need && e.outcome == Outcome::Passed))
    };
    let mut ready = waiting.iter().enumerate().filter(|(_, step)| is_ready(step)).peekable();
    let (first, step) = *ready.peek()?;
    if used + step.threads <= capacity || running.is_empty() {
        return Some(first);
    }
    let is_small = |step: &Step| step.threads as f64 <= idle + ROUNDING && used + step.threads <= 2 * capacity;
    ready.find(|(_, step)| is_small(step)).map(|(index, _)| index)
}

/// Runs a step on a thread of its own, which reports its end.
fn start(step: Step, child: Child, folder: &Path, reports: &Sender<Report>) -> Result<()> {
    let path = step::output_file(folder, &step.name);
    let create = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let output = create(&path)?;
    let reports = reports.clone();
    match step.work {
        Work::Run(mut command) => {
            let copy = output.try_clone()?;
            thread::spawn(move || {
                let result = step::run(&mut command, output, copy, &child);
                report(&reports, step.name, result, None, &path);
            });
        }
        Work::BuildTests { mut command, linting } => {
            let messages = messages_file(&path);
            let stdout = create(&messages)?;
            thread::spawn(move || {
                let copy = output.try_clone();
                let result = step::run(&mut command, stdout, output, &child);
                let text = fs::read_to_string(&messages).unwrap_or_default();
                if let Ok(mut copy) = copy {
                    // The report is read from there; without it, cargo's own lines still say what failed.
                    let _ = copy.write_all(programs::diagnostics(&text).0.as_bytes());
                }
                report(&reports, step.name, result, Some((text, linting)), &path);
            });
        }
        Work::Skip(_) => unreachable!("such steps end before they start"),
    }
    Ok(())
}

fn report(
    reports: &Sender<Report>,
    name: String,
    result: Result<(std::process::ExitStatus, Times)>,
    messages: Option<(String, bool)>,
    output: &Path,
) {
    let (outcome, times) = match result {
        Ok((status, times)) => {
            let text = fs::read(output).unwrap_or_default();
            let outcome = Outcome::from(status).by_output(&String::from_utf8_lossy(&text));
            (outcome, times)
        }
        Err(error) => {
            // The report is read from there. Without the line it still says that the step failed.
            let _ = fs::write(output, format!("{error:#}\n"));
            (Outcome::Failed, Times::default())
        }
    };
    // The receiver is gone if this program ends early.
    let _ = reports.send(Report { name, outcome, times, messages });
}

/// Prints how a step ended, with its output if that matters.
fn show(report: &Report, counter: &str, folder: &Path, verbose: bool) {
    let seconds = report.times.elapsed.as_secs_f32();
    let text = fs::read(step::output_file(folder, &report.name)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    match &report.outcome {
        Outcome::Failed => {
            println!("{counter} FAILED  {} ({seconds:.1} s); its output:", report.name);
            println!("{}", text.trim_end());
            println!("{counter} end of the output of {}", report.name);
        }
        Outcome::Passed if verbose => {
            println!("{counter} passed  {} ({seconds:.1} s); its output:", report.name);
            println!("{}", text.trim_end());
        }
        outcome => {
            let word = match outcome {
                Outcome::Passed => "passed ",
                _ => "skipped",
            };
            println!("{counter} {word} {} ({seconds:.1} s)", report.name);
            let mut shown = BTreeSet::new();
            for line in text.lines().filter(|l| NOTES.iter().any(|n| l.starts_with(n)) && shown.insert(*l)) {
                println!("    {line}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn shell(name: &str, script: &str) -> Step {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Step::new(name, 1, Work::Run(command))
    }

    fn outcomes(steps: Vec<Step>, capacity: usize) -> Vec<(String, Outcome)> {
        let scratch = tempfile::tempdir().unwrap();
        let plan = Plan {
            steps,
            capacity,
            folder: scratch.path().to_owned(),
            wanted: &|_| true,
            prefix: PathBuf::new(),
            verbose: false,
            fast: false,
        };
        let ended = run(plan).unwrap();
        ended.into_iter().map(|e| (e.name, e.outcome)).collect()
    }

    #[test]
    fn steps_wait_for_what_they_need() {
        let all = outcomes(
            vec![
                shell("second", "exit 0").needs(&["first"]),
                shell("third", "exit 0").needs(&["failing"]),
                shell("first", "sleep 0.1"),
                shell("failing", "exit 1"),
            ],
            4,
        );
        let of = |name: &str| &all.iter().find(|(n, _)| n == name).unwrap().1;
        assert_eq!(all.len(), 4);
        assert_eq!(of("failing"), &Outcome::Failed);
        assert!(matches!(of("third"), Outcome::Skipped(reason) if reason.contains("failing")));
        let place = |name: &str| all.iter().position(|(n, _)| n == name);
        assert!(place("first") < place("second"));
    }

    #[test]
    fn capacity_and_resources_are_respected() {
        let scratch = tempfile::tempdir().unwrap();
        let lock = scratch.path().join("lock").display().to_string();
        let alone = format!("mkdir '{lock}' && sleep 0.1 && rmdir '{lock}'");
        let together = |resource| {
            let mut steps = vec![shell("a", &alone), shell("b", &alone), shell("c", &alone)];
            for step in &mut steps {
                step.resource = resource;
            }
            steps
        };
        for (all, capacity) in [(together(None), 1), (together(Some("lock")), 9)] {
            let all = outcomes(all, capacity);
            assert!(all.iter().all(|(_, o)| *o == Outcome::Passed), "{all:?}");
        }
    }

    #[test]
    fn small_steps_do_not_overtake_large_ones() {
        let mut large = shell("large", "exit 0");
        large.threads = 2;
        let all = outcomes(vec![shell("first", "sleep 0.1"), large, shell("small", "exit 0")], 2);
        let names: Vec<_> = all.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["first", "large", "small"]);
    }

    #[test]
    fn a_step_takes_cores_that_are_idle() {
        let running =
            |number| (0..number).map(|_| Running::new(&shell("", ""), Child::default(), Path::new(""))).collect();
        let starts = |running: Vec<_>, idle| next_ready(&[shell("next", "")], &running, &[], 2, idle).is_some();
        assert!(starts(running(1), 0.0));
        assert!(!starts(running(2), 0.5));
        assert!(starts(running(2), 1.0));
        // Not any number of steps that wait.
        assert!(!starts(running(4), 2.0));
        // A large one does not keep others from it.
        let mut large = shell("large", "");
        large.threads = 2;
        let waiting = [large, shell("next", "")];
        assert_eq!(next_ready(&waiting, &running(2), &[], 2, 0.5), None);
        assert_eq!(next_ready(&waiting, &running(2), &[], 2, 1.0), Some(1));
    }

    #[test]
    fn interrupted_steps_end_and_are_named() {
        let scratch = tempfile::tempdir().unwrap();
        // What a shell starts in the background ignores the signal.
        let mut command = Command::new("env");
        command.args(["--default-signal=INT", "sleep", "60"]);
        let step = Step::new("running", 1, Work::Run(command));
        let child = Child::default();
        let running = [Running::new(&step, child.clone(), scratch.path())];
        let (sender, reports) = channel();
        start(step, child.clone(), scratch.path(), &sender).unwrap();
        let sleeps = || {
            let id = (*child.lock().unwrap())?.as_raw_nonzero();
            let name = fs::read_to_string(format!("/proc/{id}/comm")).ok()?;
            (name == "sleep\n").then_some(())
        };
        while sleeps().is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        let ended = interrupt(vec![shell("waiting", "exit 0")], &running);
        let named: Vec<_> = ended.into_iter().map(|step| (step.name, step.outcome)).collect();
        let skipped = |reason: &str| Outcome::Skipped(reason.to_owned());
        assert_eq!(
            named,
            [
                ("running".to_owned(), skipped("interrupted while it ran")),
                ("waiting".to_owned(), skipped("interrupted before it ran")),
            ]
        );
        // The process has the signal; else this would take a minute.
        assert_eq!(reports.recv().unwrap().outcome, skipped(step::INTERRUPTED));
    }

    #[test]
    fn steps_that_print_nothing_are_ended() {
        let scratch = tempfile::tempdir().unwrap();
        let step = shell("silent", "echo first; exec sleep 60");
        let child = Child::default();
        let mut running = Running::new(&step, child.clone(), scratch.path());
        let (sender, reports) = channel();
        start(step, child, scratch.path(), &sender).unwrap();
        while running.printed.0 == 0 {
            thread::sleep(Duration::from_millis(1));
            running.end_if_silent(SILENCE);
        }
        let limit = Duration::from_millis(10);
        let report = loop {
            running.end_if_silent(limit);
            match reports.recv_timeout(limit) {
                Ok(report) => break report,
                Err(error) => assert_eq!(error, RecvTimeoutError::Timeout),
            }
        };
        assert_eq!(report.outcome, Outcome::Failed);
        let output = fs::read_to_string(&running.output).unwrap();
        assert!(output.starts_with("first\n\nno output for 0 s: the step hangs"));
    }

    #[test]
    fn a_step_larger_than_the_machine_runs_alone() {
        let mut large = shell("large", "exit 0");
        large.threads = 100;
        assert_eq!(outcomes(vec![large], 2), [("large".into(), Outcome::Passed)]);
    }
}

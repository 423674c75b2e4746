//! Faults of the launcher: what it cannot start, and its own end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use ferroshmem_conformance::Job;
use ferroshmem_conformance::job::{Outcome, Running, now_ms, shell_status};
use ferroshmem_conformance::suite::Setting;
use nix::sys::signal::{Signal, kill};

use crate::death_program;
use crate::ending::{ATTEMPTS, GONE_WITHIN_MS, Status, ended_rightly};

pub(crate) fn bad_program(s: &Setting, kind: &str) -> Result<()> {
    let path = s.scratch.join(format!("bad-{kind}"));
    fs::create_dir_all(&s.scratch)?;
    match kind {
        "folder" => fs::create_dir_all(&path)?,
        "missing" => {}
        _ => fs::write(&path, "neither script nor program\n")?,
    }
    if kind == "not-a-program" {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    let outcome = Job::new(2, &path).run(&s.prefix, &s.scratch)?;
    let status = if kind == "missing" { 127 } else { 126 };
    let name = path.display().to_string();
    let result = ended_rightly(&outcome, Status::Is(status), &["oshrun", &name]);
    if kind == "folder" {
        fs::remove_dir(&path)?;
    } else if kind != "missing" {
        fs::remove_file(&path)?;
    }
    result
}

pub(crate) fn bad_options(s: &Setting, options: &[&str]) -> Result<()> {
    let job = Job::new(1, &death_program(s)?).args(&["well"]).options(options);
    let outcome = job.run(&s.prefix, &s.scratch)?;
    ended_rightly(&outcome, Status::Is(2), &["oshrun", options[1]])
}

/// Starts PEs that never end and waits until they run.
pub(crate) fn start_busy(s: &Setting, pes: usize) -> Result<Running> {
    start(s, pes, "busy")
}

fn start(s: &Setting, pes: usize, way: &str) -> Result<Running> {
    let job = Job::new(pes, &death_program(s)?).args(&[way]);
    let running = Running::start(&job, &s.prefix, &s.scratch)?;
    let start = Instant::now();
    while running.stdout_so_far().matches("running").count() < pes {
        ensure!(start.elapsed() < Duration::from_secs(30), "the job does not start");
        thread::sleep(Duration::from_millis(5));
    }
    Ok(running)
}

/// The launcher gets a signal: all its PEs end with it.
pub(crate) fn launcher_ends(s: &Setting, signal: Signal) -> Result<()> {
    let mut took = 0;
    for _ in 0..ATTEMPTS {
        let running = start_busy(s, 4)?;
        ensure!(running.processes() >= 5, "{} processes", running.processes());
        let start = now_ms();
        kill(running.pid(), signal)?;
        let outcome = running.finish(Duration::from_secs(20))?;
        took = outcome.ended_ms - start;
        ensure!(!outcome.hung && outcome.left == 0, "{} processes are left\n{outcome}", outcome.left);
        let status = shell_status(outcome.status);
        ensure!(status == 128 + signal as i32, "status {status}\n{outcome}");
        if took <= GONE_WITHIN_MS {
            return Ok(());
        }
    }
    bail!("the launcher took {took} ms to end")
}

/// SIGINT shows of a job that hangs what the PEs wait for.
pub(crate) fn interrupt_report(s: &Setting) -> Result<()> {
    // PEs that have waited for less than a second do not hang.
    let outcome = reported_waits(s, Duration::from_millis(1500), |running| {
        kill(running.pid(), Signal::SIGINT)?;
        let outcome = running.finish(Duration::from_secs(20))?;
        ensure!(outcome.left == 0 && !outcome.hung, "is left\n{outcome}");
        let status = shell_status(outcome.status);
        ensure!(status == 130, "status {status}\n{outcome}");
        Ok(outcome)
    })?;
    ensure!(
        outcome.stderr.lines().last().is_some_and(|l| l.contains("got SIGINT")),
        "the end is not the last line\n{outcome}"
    );
    Ok(())
}

/// Starts a job, lets its PEs go on for `pause` and ends them by `end`. `missing` is what the report lacks.
///
/// On a busy machine a PE may not have run at all in that time: then the job is tried again, with a pause
/// twice as long.
fn reported(
    start: impl Fn() -> Result<Running>,
    mut pause: Duration,
    end: impl Fn(Running) -> Result<Outcome>,
    missing: impl Fn(&Outcome) -> Option<String>,
) -> Result<Outcome> {
    const TRIES: u32 = 5;
    let mut lack = String::new();
    for _ in 0..TRIES {
        let running = start()?;
        thread::sleep(pause);
        let outcome = end(running)?;
        match missing(&outcome) {
            None => return Ok(outcome),
            Some(what) => lack = format!("after {pause:?}: no word on {what}\n{outcome}"),
        }
        pause *= 2;
    }
    bail!(lack)
}

/// The report of PEs that wait for ever, which must name the wait of each PE.
fn reported_waits(s: &Setting, pause: Duration, end: impl Fn(Running) -> Result<Outcome>) -> Result<Outcome> {
    const PES: usize = 3;
    // Each waits for a variable of another value.
    let named = |outcome: &Outcome, pe: usize| {
        let mut lines = outcome.stderr.lines();
        lines.any(|line| {
            let subject = line.split(" wait").next().unwrap_or_default();
            line.contains("in shmem_long_wait_until") && names(subject, pe)
        })
    };
    let missing = |outcome: &Outcome| (0..PES).find(|pe| !named(outcome, *pe)).map(|pe| format!("PE {pe}"));
    reported(|| start_busy(s, PES), pause, end, missing)
}

/// Whether the beginning of a line, as `oshrun: PEs 0-1, 3`, is of this PE.
fn names(subject: &str, pe: usize) -> bool {
    let list = subject.split("PE").nth(1).unwrap_or_default();
    let mut ranges = list.trim_start_matches('s').split(',').map(str::trim);
    ranges.any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let bounds = first.parse::<usize>().ok().zip(last.parse::<usize>().ok());
        bounds.is_some_and(|(first, last)| (first..=last).contains(&pe))
    })
}

/// The report tells PEs that compute or poll from those that sleep, and from those that are stopped.
pub(crate) fn what_pes_do(s: &Setting) -> Result<()> {
    const LINES: [&str; 4] = [
        "PE 1 computes, or polls memory in the program",
        "PE 2 sleeps in the program",
        "PEs 0, 3 wait in shmem_barrier_all",
        "PEs 1-2 have not come",
    ];

    let end = |running: Running| {
        kill(running.pid(), Signal::SIGQUIT)?;
        running.finish(Duration::from_secs(20))
    };
    let missing = |outcome: &Outcome| LINES.into_iter().find(|line| !outcome.stderr.contains(line)).map(str::to_owned);
    reported(|| start(s, 4, "doing"), Duration::from_millis(500), end, missing).map(drop)
}

/// SIGQUIT makes the launcher report which PEs wait; the watchdog of these tests relies on it.
pub(crate) fn hang_report(s: &Setting) -> Result<()> {
    // A wait is recorded once it has lasted a moment.
    let outcome = reported_waits(s, Duration::from_millis(500), |running| running.finish(Duration::ZERO))?;
    ensure!(outcome.left == 0, "{} processes are left", outcome.left);
    Ok(())
}

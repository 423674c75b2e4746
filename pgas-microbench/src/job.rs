//! One job, to its end or to its limit.

use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ferroshmem_core::platform::child::end_with_parent;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// After it is asked to end, a launcher has this long.
const GRACE: Duration = Duration::from_secs(5);

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Itself(ExitStatus),
    /// At its limit.
    Limit(Duration),
    /// The user wants no more.
    Interrupted,
}

/// What a job printed, and how it ended.
#[derive(Debug)]
pub struct Outcome {
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub complaints: String,
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub time: Duration,
}

impl Outcome {
    /// Why it did not end well, in a line.
    pub fn failure(&self) -> Option<String> {
        match self.end {
            End::Itself(status) if status.success() => None,
            End::Itself(status) => {
                let mut said = self.complaints.lines().map(str::trim);
                let line = said.find(|line| !line.is_empty());
                Some(line.map_or(status.to_string(), |line| format!("{status}: {line}")))
            }
            End::Limit(limit) => Some(format!("ended after {} s", limit.as_secs())),
            End::Interrupted => Some("interrupted".to_owned()),
        }
    }
}

/// Runs a command until it ends, `limit` is over, or `interrupted`. Its output goes through files
/// in `scratch`, which also hold what it had printed before it was ended.
///
/// # Errors
/// If it cannot be started.
pub fn run(
    mut command: Command,
    limit: Duration,
    scratch: &Path,
    interrupted: &dyn Fn() -> bool,
) -> Result<Outcome> {
    let (out, err) = (scratch.join("out"), scratch.join("err"));
    end_with_parent(&mut command);
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let end = wait(&mut child, limit, interrupted)?;
    let time = start.elapsed();
    let read = |path: &Path| -> Result<String> {
        let mut bytes = Vec::new();
        File::open(path)?.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Outcome {
        output: read(&out)?,
        complaints: read(&err)?,
        end,
        time,
    })
}

fn wait(child: &mut Child, limit: Duration, interrupted: &dyn Fn() -> bool) -> Result<End> {
    let start = Instant::now();
    let why = loop {
        if let Some(status) = child.try_wait()? {
            return Ok(End::Itself(status));
        }
        if start.elapsed() > limit {
            break End::Limit(limit);
        }
        if interrupted() {
            break End::Interrupted;
        }
        // Seldom enough not to disturb what is measured.
        thread::sleep(Duration::from_millis(20));
    };
    let group = Pid::from_raw(child.id().cast_signed());
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // It may end in this very moment, which is as good.
        let _ = killpg(group, signal);
        let asked = Instant::now();
        while asked.elapsed() < GRACE {
            if child.try_wait()?.is_some() {
                return Ok(why);
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
    Ok(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration, interrupted: bool) -> Outcome {
        let scratch = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, limit, scratch.path(), &|| interrupted).unwrap()
    }

    #[test]
    fn ends_are_told_apart() {
        let minute = Duration::from_secs(60);
        let fine = shell("echo out; echo err >&2", minute, false);
        assert_eq!(
            (fine.output.as_str(), fine.complaints.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(fine.failure(), None);
        let failed = shell("echo first >&2; echo second >&2; exit 3", minute, false);
        let reason = failed.failure().unwrap();
        assert!(
            reason.contains('3') && reason.ends_with(": first"),
            "{reason}"
        );
        let stopped = shell("sleep 60", minute, true);
        assert_eq!(stopped.failure().unwrap(), "interrupted");
    }

    #[test]
    fn what_was_printed_before_the_limit_is_kept() {
        let slow = shell("echo early; sleep 60", Duration::from_millis(300), false);
        assert_eq!(slow.output, "early\n");
        assert!(slow.failure().unwrap().starts_with("ended after"));
        assert!(slow.time < Duration::from_secs(30));
    }
}

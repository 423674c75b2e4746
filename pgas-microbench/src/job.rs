//! Jobs: run to their end or to a limit, or kept running and asked line by line.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use ferroshmem_platform::child::end_with_parent;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::NamedTempFile;

/// Time that a launcher gets after each signal that asks it to end.
const GRACE: Duration = Duration::from_secs(5);
/// Time that a job gets to end after its input has ended.
const SHUTDOWN: Duration = Duration::from_secs(30);

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// By itself.
    Exit(ExitStatus),
    /// It was ended at its time limit.
    Limit(Duration),
    /// It was ended because the user interrupted the run.
    Interrupted,
}

/// What a job printed, and how it ended.
#[derive(Debug)]
pub struct Completed {
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
    /// How it ended.
    pub end: End,
    /// How long it took.
    pub time: Duration,
}

impl Completed {
    /// Why it failed, in one line; none if it succeeded.
    pub fn failure(&self) -> Option<String> {
        match self.end {
            End::Exit(status) if status.success() => None,
            End::Exit(status) => {
                let mut lines = self.errors.lines().map(str::trim);
                let line = lines.find(|line| !line.is_empty());
                Some(line.map_or(status.to_string(), |line| format!("{status}: {line}")))
            }
            End::Limit(limit) => Some(format!("ended after {} s", limit.as_secs())),
            End::Interrupted => Some("interrupted".to_owned()),
        }
    }
}

/// Runs a command until it ends, `limit` is over, or `interrupted` returns true. Its output goes
/// through files, which keep what a job that is ended has printed before.
///
/// # Errors
/// If it cannot be started.
pub fn run(mut command: Command, limit: Duration, interrupted: &dyn Fn() -> bool) -> Result<Completed> {
    let (output, errors) = (NamedTempFile::new()?, NamedTempFile::new()?);
    end_with_parent(&mut command);
    let start = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(output.reopen()?)
        .stderr(errors.reopen()?)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let end = match wait(&mut child, limit, interrupted)? {
        Some(status) => End::Exit(status),
        None => {
            terminate(&mut child)?;
            match interrupted() {
                true => End::Interrupted,
                false => End::Limit(limit),
            }
        }
    };
    let time = start.elapsed();
    Ok(Completed { output: text(&output)?, errors: text(&errors)?, end, time })
}

/// Asks a process group to end, and kills it if it does not.
fn terminate(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_raw(child.id().cast_signed());
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // Fails if the group has ended meanwhile.
        let _ = killpg(group, signal);
        if wait(child, GRACE, &|| false)?.is_some() {
            break;
        }
    }
    Ok(())
}

/// The exit status, if the child ends before `limit` is over or `interrupted` returns true.
fn wait(child: &mut Child, limit: Duration, interrupted: &dyn Fn() -> bool) -> io::Result<Option<ExitStatus>> {
    // Rare enough not to disturb what is measured.
    const POLL: Duration = Duration::from_millis(20);
    let start = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || start.elapsed() > limit || interrupted() {
            return Ok(status);
        }
        thread::sleep(POLL);
    }
}

/// What a file holds that a job wrote to.
fn text(file: &NamedTempFile) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(file.path())?).into_owned())
}

/// The first lines of error output that contain words, as one line.
pub fn summary(errors: &str) -> String {
    let wordy = |line: &&str| line.contains(char::is_alphanumeric);
    let lines: Vec<_> = errors.lines().filter(wordy).take(3).collect();
    match lines.is_empty() {
        true => "no error output".to_owned(),
        false => lines.join(" / "),
    }
}

/// A running job that reads orders from its input and prints answers, a line each. It ends when
/// this is dropped.
#[derive(Debug)]
pub struct Session {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<String>,
    errors: NamedTempFile,
    timeout: Duration,
}

impl Session {
    /// Starts a job, whose answers take at most `timeout` each.
    ///
    /// # Errors
    /// If the launcher cannot be started. A failure of the program is reported by
    /// [`Self::receive`].
    pub fn start(mut launch: Command, timeout: Duration) -> Result<Self> {
        let errors = NamedTempFile::new()?;
        // A group of its own: an interrupt from the terminal ends this process only, and the
        // launcher then reads the end of its input.
        let mut child = launch
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors.reopen()?)
            .spawn()
            .with_context(|| format!("cannot start {launch:?}"))?;
        let output = child.stdout.take().context("the job has no output")?;
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { input: child.stdin.take(), child, answers, errors, timeout })
    }

    /// Sends an order.
    ///
    /// # Errors
    /// If the job has ended: its error output is in the error.
    pub fn send(&mut self, order: &str) -> Result<()> {
        let input = self.input.as_mut();
        let sent = input.is_some_and(|input| writeln!(input, "{order}").and(input.flush()).is_ok());
        if sent { Ok(()) } else { Err(self.failure()) }
    }

    /// The next line that the job prints.
    ///
    /// # Errors
    /// If the job ends, whose error output is in the error, or prints nothing in time.
    pub fn receive(&mut self) -> Result<String> {
        match self.answers.recv_timeout(self.timeout) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                bail!("no answer within {} s", self.timeout.as_secs())
            }
            Err(RecvTimeoutError::Disconnected) => Err(self.failure()),
        }
    }

    /// Why the job ended.
    fn failure(&mut self) -> Error {
        // The launcher may still be forwarding the error output.
        self.input = None;
        let _ = wait(&mut self.child, GRACE, &|| false);
        anyhow!("the job ended: {}", summary(&text(&self.errors).unwrap_or_default()))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.input = None;
        if !matches!(wait(&mut self.child, SHUTDOWN, &|| false), Ok(Some(_))) {
            // The PEs end with their launcher: they ask the kernel for that.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn completed(script: &str, limit: Duration, interrupted: bool) -> Completed {
        run(shell(script), limit, &|| interrupted).unwrap()
    }

    #[test]
    fn ends_are_distinguished() {
        let minute = Duration::from_secs(60);
        let fine = completed("echo out; echo err >&2", minute, false);
        assert_eq!((fine.output.as_str(), fine.errors.as_str()), ("out\n", "err\n"));
        assert_eq!(fine.failure(), None);
        let failed = completed("echo first >&2; echo second >&2; exit 3", minute, false);
        let reason = failed.failure().unwrap();
        assert!(reason.contains('3') && reason.ends_with(": first"), "{reason}");
        let stopped = completed("sleep 60", minute, true);
        assert_eq!(stopped.failure().unwrap(), "interrupted");
    }

    #[test]
    fn what_was_printed_before_the_limit_is_kept() {
        let slow = completed("echo early; sleep 60", Duration::from_millis(300), false);
        assert_eq!(slow.output, "early\n");
        assert!(slow.failure().unwrap().starts_with("ended after"));
        assert!(slow.time < Duration::from_secs(30));
    }

    #[test]
    fn a_session_answers_until_its_input_ends() {
        let script = "while read order; do echo \"$order!\"; done";
        let mut session = Session::start(shell(script), Duration::from_secs(60)).unwrap();
        for order in ["one", "two"] {
            session.send(order).unwrap();
            assert_eq!(session.receive().unwrap(), format!("{order}!"));
        }
    }

    #[test]
    fn a_session_that_ends_says_why() {
        let failing = shell("echo --- >&2; echo no memory >&2; exit 1");
        let mut session = Session::start(failing, Duration::from_secs(60)).unwrap();
        let error = session.receive().unwrap_err().to_string();
        assert_eq!(error, "the job ended: no memory");
    }
}

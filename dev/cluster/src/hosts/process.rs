//! Commands in hosts, for the process that made the cluster.

use super::cluster::Cluster;
use super::wire::{self, RemoteCommand};
use anyhow::{Result, bail};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

/// Status of a process whose host is gone: killed.
const HOST_GONE: i32 = 9;

/// A command for a host. It has this process's environment and folder.
#[derive(Debug)]
pub struct Command<'a> {
    cluster: &'a Cluster,
    host: String,
    /// Program, arguments, environment and folder; this process never starts it.
    parts: std::process::Command,
}

impl<'a> Command<'a> {
    pub(super) fn new(cluster: &'a Cluster, host: &str, words: Vec<OsString>) -> Self {
        let mut words = words.into_iter();
        let mut parts = std::process::Command::new(words.next().unwrap_or_default());
        parts.args(words);
        Self { cluster, host: host.to_owned(), parts }
    }

    /// Sets a variable.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.parts.env(name, value);
        self
    }

    /// Changes arguments, environment or folder; streams set here have no effect.
    pub fn change(mut self, change: impl FnOnce(&mut std::process::Command)) -> Self {
        change(&mut self.parts);
        self
    }

    /// Starts the command with its output kept and its input empty.
    ///
    /// # Errors
    /// If the host is gone, or the command cannot be started there.
    pub fn spawn(&self) -> Result<Process> {
        let nothing = File::open("/dev/null")?;
        let (stdout, stderr) = (Output::new()?, Output::new()?);
        let (to, errors) = (stdout.writer()?, stderr.writer()?);
        let (connection, pid) = self.start([nothing.as_fd(), to.as_fd(), errors.as_fd()])?;
        Ok(Process { connection, pid, status: None, stdout, stderr })
    }

    /// Runs the command to its end with this process's input and outputs.
    ///
    /// # Errors
    /// As [`Command::spawn`].
    pub fn status(&self) -> Result<ExitStatus> {
        let (input, output, errors) = (io::stdin(), io::stdout(), io::stderr());
        let (connection, _) = self.start([input.as_fd(), output.as_fd(), errors.as_fd()])?;
        Ok(ExitStatus::from_raw(wire::ended(&connection)?.unwrap_or(HOST_GONE)))
    }

    fn start(&self, streams: [BorrowedFd; 3]) -> Result<(UnixStream, i32)> {
        let mut variables: BTreeMap<OsString, OsString> = env::vars_os().collect();
        for (name, value) in self.parts.get_envs() {
            match value {
                Some(value) => variables.insert(name.to_owned(), value.to_owned()),
                None => variables.remove(name),
            };
        }
        let folder = match self.parts.get_current_dir() {
            Some(folder) => folder.to_owned(),
            None => env::current_dir()?,
        };
        let program = self.parts.get_program();
        let words = [program].into_iter().chain(self.parts.get_args());
        let command = RemoteCommand {
            folder: folder.into(),
            variables: Some(variables.into_iter().collect()),
            words: words.map(OsStr::to_owned).collect(),
        };
        let connection = self.cluster.connect(&self.host)?;
        command.send(&connection, streams)?;
        let pid = wire::started(&connection)?;
        Ok((connection, pid))
    }
}

/// A command that was started in a host. Dropping this does not end it; dropping the cluster does.
#[derive(Debug)]
pub struct Process {
    connection: UnixStream,
    pid: i32,
    status: Option<ExitStatus>,
    stdout: Output,
    stderr: Output,
}

impl Process {
    /// Its id in its host. It leads a session and a process group of its own.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits at most `limit` until it ends. A process whose host is gone counts as killed.
    ///
    /// # Errors
    /// If the host's report cannot be read.
    pub fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.connection.set_read_timeout(Some(limit.max(Duration::from_millis(1))))?;
            match wire::ended(&self.connection) {
                Ok(raw) => self.status = Some(ExitStatus::from_raw(raw.unwrap_or(HOST_GONE))),
                Err(e) if is_timeout(&e) => (),
                Err(e) => return Err(e),
            }
        }
        Ok(self.status)
    }

    /// Waits at most `limit` until a line of its standard output contains the marker.
    ///
    /// # Errors
    /// If it ends before, or the limit passes.
    pub fn wait_for(&mut self, marker: &str, limit: Duration) -> Result<()> {
        let start = Instant::now();
        loop {
            let ended = self.wait(Duration::from_millis(5))?;
            if self.stdout().lines().any(|line| line.contains(marker)) {
                return Ok(());
            }
            if let Some(status) = ended {
                bail!("it ended without printing {marker}: {status}\n{self}");
            }
            if start.elapsed() > limit {
                bail!("it has not printed {marker} within {limit:?}\n{self}");
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Its standard output so far.
    pub fn stdout(&self) -> String {
        self.stdout.text()
    }

    /// Its standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.text()
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, text) in [("stdout", self.stdout()), ("stderr", self.stderr())] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// Output of a process, in memory: nothing is left behind, and a process that outlives the
/// job cannot block the reader.
#[derive(Debug)]
struct Output(File);

impl Output {
    fn new() -> Result<Self> {
        Ok(Self(memfd_create("output", MFdFlags::MFD_CLOEXEC)?.into()))
    }

    /// Another open file: processes append, and do not share the reader's position.
    fn writer(&self) -> Result<File> {
        let path = format!("/proc/self/fd/{}", self.0.as_raw_fd());
        Ok(OpenOptions::new().append(true).open(path)?)
    }

    fn text(&self) -> String {
        let length = self.0.metadata().map_or(0, |m| m.len());
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let read = self.0.read_at(&mut bytes, 0).unwrap_or(0);
        String::from_utf8_lossy(&bytes[..read]).into_owned()
    }
}

fn is_timeout(error: &anyhow::Error) -> bool {
    let kinds = [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut];
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|e| kinds.contains(&e.kind()))
}

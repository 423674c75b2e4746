//! Running `oshrun` under a watchdog.
#![allow(dead_code, reason = "not every test file uses everything")]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use ferroshmem_conformance::job::default_signals;
use ferroshmem_conformance::leftovers::{MARK_VARIABLE, kill_marked, marked_processes};
use ferroshmem_conformance::progress::{Signs, Watchdog};

/// A job that makes no progress for this long hangs.
const WATCHDOG: Duration = Duration::from_secs(60);

/// A running job.
pub(crate) struct Job {
    child: Child,
    mark: String,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
    watchdog: Watchdog,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub code: Option<i32>,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// `oshrun` with these arguments.
pub(crate) fn oshrun<S: AsRef<std::ffi::OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oshrun"));
    command.args(arguments);
    command
}

/// `oshrun` with `options`, running a shell script on each PE; in it, `$PE` is the PE.
pub(crate) fn script(options: &str, script: &str) -> Command {
    let mut command = oshrun(&options.split_whitespace().collect::<Vec<_>>());
    command.args(["sh", "-c", &format!("ulimit -c 0; PE=${{FERROSHMEM_JOB#*:}}; {script}")]);
    command
}

/// Writes a script that can be run.
pub(crate) fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs to the end.
pub(crate) fn run(command: &mut Command) -> Ended {
    Job::start(command, "").wait()
}

impl Job {
    /// Starts it, with `input` as standard input.
    pub(crate) fn start(command: &mut Command, input: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        command.env(MARK_VARIABLE, &mark);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        default_signals(command);
        let mut child = command.spawn().expect("oshrun starts");
        // A program need not read its input.
        let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
        let stdout = Some(collect(child.stdout.take().expect("piped")));
        let stderr = Some(collect(child.stderr.take().expect("piped")));
        Self { child, mark, stdout, stderr, watchdog: Watchdog::new(WATCHDOG) }
    }

    /// Process id of `oshrun`.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Sends a signal to `oshrun`.
    pub(crate) fn signal(&self, signal: i32) {
        kill(self.pid(), signal);
    }

    /// Waits until a process of the job has made `path`.
    pub(crate) fn wait_for(&mut self, path: &std::path::Path) {
        self.wait_until(|| path.exists());
    }

    /// Waits until something is so, while the job runs.
    pub(crate) fn wait_until(&mut self, is_so: impl Fn() -> bool) {
        while !is_so() {
            assert!(self.child.try_wait().unwrap().is_none(), "the job ended before");
            self.tick();
        }
    }

    /// Sends a signal again and again until `oshrun` ends.
    pub(crate) fn end_by(mut self, signal: i32) -> Ended {
        while self.child.try_wait().unwrap().is_none() {
            self.signal(signal);
            self.tick();
        }
        self.wait()
    }

    /// Waits for the end; no process of the job may be left.
    pub(crate) fn wait(self) -> Ended {
        self.wait_and(false)
    }

    /// Waits for the end of `oshrun`, and then for that of all processes that it left.
    pub(crate) fn wait_for_all(self) -> Ended {
        self.wait_and(true)
    }

    fn wait_and(mut self, others_may_be_later: bool) -> Ended {
        let status = loop {
            match self.child.try_wait().expect("our child") {
                Some(status) => break status,
                None => self.tick(),
            }
        };
        // If `oshrun` is killed, other processes may end later; else they must have ended.
        let killed = std::os::unix::process::ExitStatusExt::signal(&status).is_some();
        if killed || others_may_be_later {
            while !marked_processes(&self.mark).is_empty() {
                self.tick();
            }
        }
        assert_eq!(marked_processes(&self.mark), [], "processes left by a job");
        let stdout = self.stdout.take().unwrap().join().unwrap();
        let stderr = self.stderr.take().unwrap().join().unwrap();
        Ended { code: status.code(), status, stdout, stderr }
    }

    fn tick(&mut self) {
        let signs = || Signs { processes: marked_processes(&self.mark), printed: 0 };
        if self.watchdog.expired(signs) {
            let left = marked_processes(&self.mark);
            kill_marked(&self.mark);
            let output = self.stderr.take().map(|s| s.join().unwrap()).unwrap_or_default();
            panic!("the job hangs; processes {left:?}; its errors: {output}");
        }
        sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to a process of ours.
pub(crate) fn kill(pid: i32, signal: i32) {
    // SAFETY: kill takes numbers.
    unsafe { libc::kill(pid, signal) };
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

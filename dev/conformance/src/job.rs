//! Runs one job under a watchdog.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use ferroshmem_config as config;
use nix::sys::signal::{SigHandler, Signal, kill};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::leftovers::{self, GONE_WITHIN, MARK_VARIABLE, Machine};
use crate::prefix::Prefix;
use crate::progress::{Signs, Watchdog};

/// A job to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// Number of PEs; 0 runs the program without launcher.
    pub pes: usize,
    /// The program; its arguments follow.
    pub command: Vec<String>,
    /// Options of `oshrun`, in place of `-n <pes>` if they are given.
    pub options: Vec<String>,
    /// Environment of launcher and PEs.
    pub env: Vec<(String, String)>,
    /// The watchdog ends it after this time without progress, and after ten times as long in any case: a
    /// job makes progress while one of its processes computes, or waits for a core, or prints.
    pub watchdog: Duration,
}

/// How a job ended.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status of the launcher.
    pub status: ExitStatus,
    /// All that was printed to standard output.
    pub stdout: String,
    /// All that was printed to standard error; the hang report if there is one.
    pub stderr: String,
    /// The watchdog ended it.
    pub hung: bool,
    /// Processes of the job that outlived it, their number.
    pub left: usize,
    /// When it ended, milliseconds of `CLOCK_MONOTONIC`.
    pub ended_ms: u64,
}

/// Milliseconds of `CLOCK_MONOTONIC`, the clock that fault programs print.
pub fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every kernel has this clock");
    now.tv_sec().unsigned_abs() * 1000 + now.tv_nsec().unsigned_abs() / 1_000_000
}

impl Job {
    /// A job of `pes` PEs of one program.
    pub fn new(pes: usize, program: &Path) -> Self {
        Self {
            pes,
            command: vec![program.display().to_string()],
            options: Vec::new(),
            env: Vec::new(),
            watchdog: Duration::from_secs(60),
        }
    }

    /// The same with arguments of the program.
    pub fn args(mut self, args: &[&str]) -> Self {
        self.command.extend(args.iter().map(|a| (*a).to_owned()));
        self
    }

    /// The same with a variable set; with none if the name is empty.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(other, _)| other != name);
        if !name.is_empty() {
            self.env.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// The same with options of the launcher in place of `-n`.
    pub fn options(mut self, options: &[&str]) -> Self {
        self.options = options.iter().map(|o| (*o).to_owned()).collect();
        self
    }

    /// Runs the job to its end; output goes through files in `scratch`, so that a process
    /// that outlives the job cannot hold up the reader.
    pub fn run(&self, prefix: &Prefix, scratch: &Path) -> Result<Outcome> {
        Running::start(self, prefix, scratch)?.finish(self.watchdog)
    }

    /// Runs the job, which must end well.
    pub fn expect_success(&self, prefix: &Prefix, scratch: &Path) -> Result<Outcome> {
        self.run(prefix, scratch)?.successful(self.watchdog)
    }

    /// Runs the job, which must end with the status and one line with the words, or no line if there are none. Nothing
    /// may be left.
    pub fn expect_failure(&self, prefix: &Prefix, scratch: &Path, status: i32, words: &[&str]) -> Result<()> {
        let before = Machine::now();
        let outcome = self.run(prefix, scratch)?;
        outcome.ended_saying(Some(status), words)?;
        let left = before.left_files();
        ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
        Ok(())
    }
}

impl Outcome {
    /// The same, if the job has ended well.
    pub fn successful(self, watchdog: Duration) -> Result<Self> {
        if self.hung {
            bail!("hangs: ended by the watchdog after {watchdog:?} without progress\n{self}");
        }
        if !self.status.success() {
            bail!("{}\n{self}", self.status);
        }
        if self.left != 0 {
            bail!("{} processes outlived the job\n{self}", self.left);
        }
        Ok(self)
    }

    /// The same, if the job has ended with this status, and no process is left.
    ///
    /// # Errors
    /// If it has not.
    pub fn ended(self, status: i32) -> Result<Self> {
        ensure!(!self.hung, "hangs\n{self}");
        let got = shell_status(self.status);
        ensure!(got == status, "status {got}, not {status}\n{self}");
        ensure!(self.left == 0, "{} processes outlived the job\n{self}", self.left);
        Ok(self)
    }

    /// That the job has ended with the status, any but 0 if none is given, and one line with the words, or no line if
    /// there are none; and that no process is left.
    ///
    /// # Errors
    /// If it has not.
    pub fn ended_saying(&self, status: Option<i32>, words: &[&str]) -> Result<()> {
        ensure!(!self.hung, "hangs\n{self}");
        let got = shell_status(self.status);
        match status {
            Some(want) => ensure!(got == want, "status {got}, not {want}\n{self}"),
            None => ensure!(got != 0, "status 0\n{self}"),
        }
        ensure!(self.left == 0, "{} processes outlived the job\n{self}", self.left);
        let lines: Vec<&str> = self.stderr.lines().collect();
        let want = usize::from(!words.is_empty());
        ensure!(lines.len() == want, "{} lines on stderr, not {want}\n{self}", lines.len());
        for word in words {
            ensure!(lines[0].contains(word), "the line does not say \"{word}\"\n{self}");
        }
        Ok(())
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, text) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !text.is_empty() {
                writeln!(f, "--- {name}\n{}", text.trim_end())?;
            }
        }
        Ok(())
    }
}

/// A job that runs. Dropped, it ends with all its processes.
#[derive(Debug)]
pub struct Running {
    child: Child,
    mark: String,
    stdout: PathBuf,
    stderr: PathBuf,
    /// No process of it is left.
    gone: bool,
}

/// Has the command begin with SIGINT, SIGQUIT and SIGHUP at their defaults: a shell that runs the suite in the
/// background has the first two ignored, `nohup` the third, which processes inherit, and `oshrun` would ignore them,
/// too.
pub fn default_signals(command: &mut Command) {
    // SAFETY: between fork and exec, the closure only makes system calls.
    unsafe {
        command.pre_exec(|| {
            for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP] {
                nix::sys::signal::signal(signal, SigHandler::SigDfl)?;
            }
            Ok(())
        });
    }
}

impl Running {
    /// Starts the job.
    pub fn start(job: &Job, prefix: &Prefix, scratch: &Path) -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        fs::create_dir_all(scratch)?;
        let (stdout, stderr) = (scratch.join(format!("{mark}.out")), scratch.join(format!("{mark}.err")));
        let mut words = prefix.emulator().iter().chain(&job.command);
        let program = words.next().context("a job has a program")?;
        let mut command = if job.pes == 0 && job.options.is_empty() {
            Command::new(program)
        } else {
            let mut oshrun = Command::new(prefix.bin("oshrun"));
            if job.options.is_empty() {
                oshrun.args(["-n", &job.pes.to_string()]);
            } else {
                oshrun.args(&job.options);
            }
            oshrun.arg(program);
            oshrun
        };
        config::isolate(&mut command, &["FERROSHMEM_"]);
        default_signals(&mut command);
        let child = command
            .args(words)
            .envs(job.env.iter().map(|(k, v)| (k, v)))
            .env(MARK_VARIABLE, &mark)
            .stdin(Stdio::null())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        Ok(Self { child, mark, stdout, stderr, gone: false })
    }

    /// Process id of the launcher.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Number of living processes of the job, the launcher included.
    pub fn processes(&self) -> usize {
        leftovers::marked_processes(&self.mark).len()
    }

    /// Whether this is a living process of the job.
    pub fn is_process(&self, pid: Pid) -> bool {
        leftovers::marked_processes(&self.mark).contains(&pid)
    }

    /// What the job has printed to standard output so far.
    pub fn stdout_so_far(&self) -> String {
        fs::read_to_string(&self.stdout).unwrap_or_default()
    }

    /// Waits until the job has printed a word, or has no process any more.
    pub fn wait_for_output(&self, word: &str) {
        while !self.stdout_so_far().contains(word) && self.processes() > 0 {
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills the supervisor of the job, whose parent is the launcher, and by that all of its PEs.
    ///
    /// # Errors
    /// If it has ended.
    pub fn kill_supervisor(&self) -> Result<()> {
        let supervisor = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.pid()))?;
        let supervisor = supervisor.split_whitespace().next().context("no child")?;
        Ok(kill(Pid::from_raw(supervisor.parse()?), Signal::SIGKILL)?)
    }

    /// What the job has printed to standard error so far.
    pub fn stderr_so_far(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap_or_default()
    }

    /// Waits for the end. On expiry of the watchdog the launcher is asked for its hang
    /// report, then to end, then it is killed.
    pub fn finish(mut self, watchdog: Duration) -> Result<Outcome> {
        let mut watchdog = Watchdog::new(watchdog);
        let (mark, output) = (self.mark.clone(), [self.stdout.clone(), self.stderr.clone()]);
        let signs = || Signs {
            processes: leftovers::marked_processes(&mark),
            printed: output.iter().flat_map(fs::metadata).map(|f| f.len()).sum(),
        };
        let mut status = self.wait_until(|| watchdog.expired(signs))?;
        let hung = status.is_none();
        for signal in [Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGKILL] {
            if status.is_some() {
                break;
            }
            // It may end in this very moment, which is as good.
            let _ = kill(self.pid(), signal);
            status = self.wait(Duration::from_secs(2))?;
        }
        let status = status.context("a killed process does not end")?;
        let ended_ms = now_ms();
        let left = self.wait_until_gone();
        self.gone = left == 0;
        let read = |path: &Path| -> Result<String> { Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned()) };
        let (stdout, stderr) = (read(&self.stdout)?, read(&self.stderr)?);
        // The emulator's own line of a program that a signal ends.
        let lines = stderr.split_inclusive('\n');
        let stderr = lines.filter(|line| !line.starts_with("qemu: uncaught target signal")).collect();
        Ok(Outcome { status, stdout, stderr, hung, left, ended_ms })
    }

    fn wait(&mut self, limit: Duration) -> Result<Option<ExitStatus>> {
        let start = Instant::now();
        self.wait_until(|| start.elapsed() > limit)
    }

    fn wait_until(&mut self, mut over: impl FnMut() -> bool) -> Result<Option<ExitStatus>> {
        let mut pause = Duration::from_micros(500);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if over() {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn wait_until_gone(&self) -> usize {
        let start = Instant::now();
        loop {
            let left = leftovers::marked_processes(&self.mark).len();
            if left == 0 || start.elapsed() > GONE_WITHIN {
                return left;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        // To look at all processes of the machine takes as long as half a job.
        if !self.gone {
            leftovers::kill_marked(&self.mark);
        }
        let _ = fs::remove_file(&self.stdout);
        let _ = fs::remove_file(&self.stderr);
    }
}

/// The exit code, or 128 plus the signal number, as shells report it.
pub fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

//! A job that times calls of collective operations on demand (`c/collectives/` is its other end).

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// An answer takes no longer.
const PATIENCE: Duration = Duration::from_secs(120);
/// A job whose input has ended takes no longer to end.
const FAREWELL: Duration = Duration::from_secs(30);

/// A running job. Between orders its processes sleep. It ends when this is dropped.
#[derive(Debug)]
pub struct Job {
    child: Child,
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
    gate: PathBuf,
    errors: PathBuf,
    /// Nanoseconds that a call last took, by operation and bytes.
    known: HashMap<(String, usize), f64>,
}

impl Job {
    /// Starts `launch`, a measuring program without its arguments, for arrays of up to `bytes`
    /// bytes. Its files are in `folder`.
    ///
    /// # Errors
    /// If files cannot be made, or the launcher not started. What happens to the program shows
    /// when it is given orders.
    pub fn start(mut launch: Command, bytes: usize, folder: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let id = format!(
            "{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let gate = folder.join(format!("gate-{id}"));
        let errors = folder.join(format!("errors-{id}"));
        fs::write(&gate, [0; 4096]).with_context(|| gate.display().to_string())?;
        let file = File::create(&errors).with_context(|| errors.display().to_string())?;
        // What ends this process does not also end the launcher: it sees the end of its input.
        launch
            .process_group(0)
            .arg(bytes.to_string())
            .arg(&gate)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file);
        let mut child = launch
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
        Ok(Self {
            orders: child.stdin.take(),
            child,
            answers,
            gate,
            errors,
            known: HashMap::new(),
        })
    }

    /// Times calls of `operation` on `bytes` bytes for about `block`; returns nanoseconds per
    /// call. The first time, results are checked.
    ///
    /// # Errors
    /// If the job ends or does not answer: what it said is in the error.
    pub fn time(&mut self, operation: &str, bytes: usize, block: Duration) -> Result<f64> {
        let key = (operation.to_owned(), bytes);
        let expected = match self.known.get(&key) {
            Some(time) => *time,
            None => {
                let cold = self.order(operation, bytes, 1, true)?;
                let calls = block.as_nanos() as f64 / 3.0 / cold;
                match calls as u64 {
                    0 => cold,
                    calls => self.order(operation, bytes, calls.min(20), false)?,
                }
            }
        };
        let calls = (block.as_nanos() as f64 / expected).clamp(1.0, 1e6);
        let time = self.order(operation, bytes, calls as u64, false)?;
        // A single disturbed block does not shorten the next one.
        self.known.insert(key, time.min(expected * 2.0));
        Ok(time)
    }

    fn order(&mut self, operation: &str, bytes: usize, calls: u64, check: bool) -> Result<f64> {
        let warm_up = calls / 10 + 1;
        let check = u8::from(check);
        let sent = self.orders.as_mut().is_some_and(|orders| {
            writeln!(orders, "{operation} {bytes} {warm_up} {calls} {check}").is_ok()
                && orders.flush().is_ok()
        });
        let answer = sent.then(|| self.answers.recv_timeout(PATIENCE));
        match answer {
            Some(Ok(line)) => line
                .parse()
                .with_context(|| format!("not a time: {line:?}")),
            Some(Err(mpsc::RecvTimeoutError::Timeout)) => {
                bail!("no answer within {} s", PATIENCE.as_secs())
            }
            _ => bail!("it ended: {}", self.complaint()),
        }
    }

    /// What the job said on standard error, shortened.
    fn complaint(&mut self) -> String {
        // The launcher may still be passing it on.
        self.orders = None;
        self.await_end(Duration::from_secs(5));
        let text = fs::read_to_string(&self.errors).unwrap_or_default();
        let wordy = |line: &&str| line.contains(char::is_alphanumeric);
        let lines: Vec<_> = text.lines().filter(wordy).take(3).collect();
        if lines.is_empty() {
            return "without a word".to_owned();
        }
        lines.join(" / ")
    }

    fn await_end(&mut self, patience: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < patience {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.orders = None;
        if !self.await_end(FAREWELL) {
            // Its processes end with it: they ask the kernel for that.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
        let _ = fs::remove_file(&self.gate);
        let _ = fs::remove_file(&self.errors);
    }
}

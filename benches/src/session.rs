//! A job that measures on demand (`c/rounds.h` is its other end).

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{Prefix, Round};

/// Seconds after which the launcher ends a job, with a report of who waits for what.
const TIMEOUT: &str = "600";

/// A running job. It ends when this is dropped.
#[derive(Debug)]
pub struct Session {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Session {
    /// Starts a program on `pes` PEs, with further options of `oshrun`.
    ///
    /// # Errors
    /// If the launcher cannot be started.
    pub fn start(prefix: &Prefix, program: &Path, pes: usize, options: &[&str]) -> Result<Self> {
        let mut command = Command::new(prefix.bin("oshrun"));
        command
            .args(["--timeout", TIMEOUT, "-n", &pes.to_string()])
            .args(options)
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let orders = child.stdin.take();
        let answers = child.stdout.take().context("the job has no output")?;
        Ok(Self {
            child,
            orders,
            answers: BufReader::new(answers),
        })
    }

    /// Measures `rounds` rounds of the series `name`.
    ///
    /// # Errors
    /// If the job ends, which it explains on standard error, or answers something else.
    pub fn measure(&mut self, name: &str, rounds: usize) -> Result<Vec<Round>> {
        let orders = self
            .orders
            .as_mut()
            .context("the job gets no more orders")?;
        writeln!(orders, "{name} {rounds}")
            .and_then(|()| orders.flush())
            .context("the job ended")?;
        (0..rounds)
            .map(|_| {
                let mut line = String::new();
                if self.answers.read_line(&mut line)? == 0 {
                    bail!("the job ended while it measured {name}");
                }
                line.parse()
            })
            .collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The end of its input ends the job; if it does not, the launcher's timeout does.
        self.orders = None;
        let _ = self.child.wait();
    }
}

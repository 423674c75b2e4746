//! A job that times calls of collective operations (`c/collectives/` is its other end).

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use pgas_microbench::build;
use pgas_microbench::implementation::{Family, Implementation};
use pgas_microbench::job::Session;
use tempfile::NamedTempFile;

/// The longest time of an answer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A running job. Its processes sleep between orders.
#[derive(Debug)]
pub struct Job {
    session: Session,
    /// The processes map it, to sleep and wake up; removed when the job has ended.
    _gate: NamedTempFile,
    /// Nanoseconds of a call in the last block, by operation and bytes.
    known: HashMap<(String, usize), f64>,
}

impl Job {
    /// Builds the measuring program with an implementation, in `folder`.
    ///
    /// # Errors
    /// If the compiler fails; its messages are in the error.
    pub fn compile(implementation: &Implementation, folder: &Path) -> Result<PathBuf> {
        let header = match implementation.family {
            Family::FerroShmem => "ferroshmem.h",
            Family::Processes => "processes.h",
            family if family.is_mpi() => "messages.h",
            _ => "openshmem.h",
        };
        let program = folder.join(format!("collectives-{}", implementation.slug()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/collectives/measure.c");
        build::run(
            implementation
                .compile()
                .args(["-std=gnu11", "-O2", "-Wall", "-Wextra"])
                .arg(format!("-DIMPLEMENTATION=\"{header}\""))
                .arg(source)
                .arg("-o")
                .arg(&program)
                .arg("-lm"),
        )?;
        Ok(program)
    }

    /// Starts `launch`, a measuring program without its arguments, for arrays of up to `bytes`
    /// bytes. Its files are in `folder`.
    ///
    /// # Errors
    /// If files cannot be made, or the launcher cannot be started. A failure of the program is
    /// reported by [`Self::time`].
    pub fn start(mut launch: Command, bytes: usize, folder: &Path) -> Result<Self> {
        let mut gate = NamedTempFile::new_in(folder).with_context(|| folder.display().to_string())?;
        gate.write_all(&[0; 4096])?;
        launch.arg(bytes.to_string()).arg(gate.path());
        Ok(Self { session: Session::start(launch, TIMEOUT)?, _gate: gate, known: HashMap::new() })
    }

    /// Times calls of `operation` on `bytes` bytes for about `block`; returns nanoseconds per
    /// call. The first call checks results.
    ///
    /// # Errors
    /// If the job ends, whose error output is in the error, or does not answer.
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
        self.session.send(&format!("{operation} {bytes} {warm_up} {calls} {check}"))?;
        let line = self.session.receive()?;
        line.parse().with_context(|| format!("not a time: {line:?}"))
    }
}

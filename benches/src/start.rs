//! The time to start and end many processes.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::{Build, Builder, Round};

/// A job of PEs that do nothing, and as many child processes of one process.
#[derive(Debug, Clone)]
pub struct Start {
    oshrun: PathBuf,
    parent: PathBuf,
    pe: PathBuf,
    bare: PathBuf,
    number: String,
}

impl Start {
    /// Builds the programs, which `number` PEs or processes run.
    ///
    /// # Errors
    /// If one cannot be built.
    pub fn new(builder: &Builder, number: usize) -> Result<Self> {
        // `--as-needed` leaves the library out of programs that do not call it.
        let bare = |file| Build::new(file).flag("-Wl,--as-needed");
        Ok(Self {
            oshrun: builder.prefix.bin("oshrun"),
            parent: builder.program(&bare("parent.c"))?,
            pe: builder.program(&Build::new("empty.c").named("empty-pe").flag("-DPE"))?,
            bare: builder.program(&bare("empty.c"))?,
            number: number.to_string(),
        })
    }

    /// Times each once, from the start of launcher or parent to its end.
    ///
    /// # Errors
    /// If one cannot be started or fails.
    pub fn measure(&self, bare_first: bool) -> Result<Round> {
        let bare = || self.time(Command::new(&self.parent).arg(&self.number).arg(&self.bare));
        let ours = || self.time(Command::new(&self.oshrun).arg("-n").arg(&self.number).arg(&self.pe));
        if bare_first {
            let bare = bare()?;
            return Ok(Round { bare, ours: ours()? });
        }
        let ours = ours()?;
        Ok(Round { bare: bare()?, ours })
    }

    fn time(&self, command: &mut Command) -> Result<f64> {
        command.stdin(Stdio::null());
        let start = Instant::now();
        let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
        let nanoseconds = start.elapsed().as_nanos() as f64;
        ensure!(status.success(), "{command:?}: {status}");
        Ok(nanoseconds)
    }
}

//! Tools between a program and the library, preloaded into its PEs.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::compile::once;
use crate::job::Job;

/// A library made of a C source, in `cache`.
pub fn tool(cache: &Path, name: &str, source: &str) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    source.hash(&mut hash);
    let library = cache.join(format!("{name}-{:016x}.so", hash.finish()));
    once(&library, |library| {
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-shared", "-fPIC", "-x", "c", "-", "-o"]).arg(library).stdin(Stdio::piped());
        let mut child = gcc.spawn().context("cannot run gcc")?;
        let mut input = child.stdin.take().context("gcc has no input")?;
        input.write_all(source.as_bytes())?;
        drop(input);
        if !child.wait()?.success() {
            bail!("{gcc:?} failed");
        }
        Ok(())
    })?;
    Ok(library)
}

/// The job with the tool in its PEs, but not in the launcher.
pub fn preloaded(job: Job, tool: &Path) -> Job {
    let pes = job.pes.to_string();
    let preload = format!("LD_PRELOAD={}", tool.display());
    job.options(&["-n", &pes, "-x", &preload])
}

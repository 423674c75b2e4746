//! Tools between a program and the library, preloaded into its PEs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::job::Job;

/// A library made of a C source, in `cache`.
pub fn tool(cache: &Path, name: &str, source: &str) -> Result<PathBuf> {
    fs::create_dir_all(cache)?;
    let (file, library) = (
        cache.join(format!("{name}.c")),
        cache.join(format!("{name}.so")),
    );
    fs::write(&file, source)?;
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-shared", "-fPIC", "-o"])
        .args([&library, &file]);
    if !gcc.status().context("cannot run gcc")?.success() {
        bail!("{gcc:?} failed");
    }
    Ok(library)
}

/// The job with the tool in its PEs, but not in the launcher.
pub fn preloaded(job: Job, tool: &Path) -> Job {
    let pes = job.pes.to_string();
    let preload = format!("LD_PRELOAD={}", tool.display());
    job.options(&["-n", &pes, "-x", &preload])
}

//! Builds what has a `Makefile` of its own: `nas/`, `stream/`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::prefix::crate_folder;

/// What has been built by this process.
static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Builds `goals` of a folder of the repository with the compiler wrapper `oshcc`, once per
/// process; returns the folder with the programs, in `cache`.
pub fn make(folder: &str, goals: &[&str], oshcc: &Path, cache: &Path) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    (goals, oshcc).hash(&mut hash);
    let build = cache.join(format!("{folder}-{:016x}", hash.finish()));
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.contains(&build) {
        return Ok(build);
    }
    let sources = crate_folder().join("..").join(folder);
    let assign = |name: &str, value: &OsStr| format!("{name}={}", value.display());
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(sources)
        .arg(assign("OSHCC", oshcc.as_os_str()))
        .arg(assign("BUILD", build.as_os_str()))
        .arg("CFLAGS=-O3 -Werror")
        .args(goals);
    let output = command
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    built.insert(build.clone());
    Ok(build)
}

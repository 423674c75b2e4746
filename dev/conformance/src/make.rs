//! Builds what has a `Makefile` of its own: `nas/`, `pgas-microbench/`.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result, bail};

use crate::prefix::workspace;
use crate::tool;

/// What has been built by this process.
static BUILT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// What the programs are compiled with; they must not cause warnings.
const CFLAGS: &str = "-O3 -std=gnu11 -Wall -Wextra -Werror";

/// Builds `goals` of a folder of the repository with the compiler wrapper `oshcc`, once per
/// process; returns the folder with the programs, in `cache`. Without `make`, the trial is ignored.
pub fn make(folder: &str, goals: &[&str], oshcc: &Path, cache: &Path) -> Result<PathBuf> {
    make_with(folder, goals, ("OSHCC", oshcc), "", cache)
}

/// As [`make`], for another library, where it is the results that count: -O1 takes half as long.
pub fn make_for_peer(folder: &str, goals: &[&str], wrapper: (&str, &Path), cache: &Path) -> Result<PathBuf> {
    make_with(folder, goals, wrapper, "-O1", cache)
}

/// As [`make`], with a compiler wrapper that another variable names, and with further flags.
pub fn make_with(folder: &str, goals: &[&str], wrapper: (&str, &Path), flags: &str, cache: &Path) -> Result<PathBuf> {
    tool::command("make", "make")?;
    let mut hash = DefaultHasher::new();
    (goals, wrapper, flags).hash(&mut hash);
    let build = cache.join(format!("{}-{:016x}", folder.replace('/', "-"), hash.finish()));
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if built.contains(&build) {
        return Ok(build);
    }
    let (variable, wrapper) = wrapper;
    let mut command = Command::new("make");
    command
        .arg("-C")
        .arg(workspace().join(folder))
        // Existing programs may have been built with other headers.
        .arg("-B")
        .args(goals)
        .arg(format!("{variable}={}", wrapper.display()))
        .arg(format!("BUILD={}", build.display()))
        .arg(format!("CFLAGS={CFLAGS} {flags}"));
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    built.insert(build.clone());
    Ok(build)
}

//! Building programs: by a compiler wrapper, or by the makefiles that users have too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::implementation::Implementation;
use crate::plan::Suite;

/// Runs a command that builds something.
///
/// # Errors
/// If it fails; its messages are in the error.
pub fn run(command: &mut Command) -> Result<()> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?} failed: {}", errors.trim());
    }
    Ok(())
}

/// Builds the suites, each with every library in a folder of its own.
#[derive(Debug)]
pub struct Builder {
    folder: PathBuf,
    built: BTreeMap<(Suite, String), Result<PathBuf, String>>,
}

impl Builder {
    /// Builds below `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            built: BTreeMap::new(),
        }
    }

    /// The folder with the programs of a suite, which are built at the first call.
    ///
    /// # Errors
    /// If they cannot be built; the compiler's messages are in the error, each time.
    pub fn programs(&mut self, suite: Suite, with: &Implementation) -> Result<PathBuf> {
        let folder = &self.folder;
        let result = self
            .built
            .entry((suite, with.slug()))
            .or_insert_with(|| make(folder, suite, with).map_err(|e| format!("{e:#}")));
        result.clone().map_err(anyhow::Error::msg)
    }
}

fn make(folder: &Path, suite: Suite, with: &Implementation) -> Result<PathBuf> {
    let build = folder.join(with.slug()).join(suite.folder());
    let target = suite
        .target(with.family, &build)
        .context("there are no such programs")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("the crate lies in a workspace")?
        .join(suite.folder());
    let variable = if with.family.is_mpi() {
        "MPICC"
    } else {
        "OSHCC"
    };
    run(Command::new("make")
        .args(["--silent", "-C"])
        .arg(source)
        .arg(target)
        .arg(format!("{variable}={}", with.compiler.display()))
        .arg(format!("BUILD={}", build.display())))?;
    Ok(build)
}

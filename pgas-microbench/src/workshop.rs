//! Building the programs, by the makefiles that users have too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::implementation::Implementation;
use crate::plan::Suite;

/// Where programs are built, each library's in a folder of its own.
#[derive(Debug)]
pub struct Workshop {
    folder: PathBuf,
    built: BTreeMap<(Suite, String), Result<PathBuf, String>>,
}

impl Workshop {
    /// Builds below `folder`.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            built: BTreeMap::new(),
        }
    }

    /// The folder with the programs of a suite, which are built when they are first asked for.
    ///
    /// # Errors
    /// If they cannot be built; what the compiler said is in the error, each time.
    pub fn programs(&mut self, suite: Suite, with: &Implementation) -> Result<PathBuf> {
        let folder = &self.folder;
        let result = self
            .built
            .entry((suite, with.slug()))
            .or_insert_with(|| build(folder, suite, with).map_err(|e| format!("{e:#}")));
        result.clone().map_err(anyhow::Error::msg)
    }
}

fn build(folder: &Path, suite: Suite, with: &Implementation) -> Result<PathBuf> {
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
    let mut make = Command::new("make");
    make.arg("--silent")
        .arg("-C")
        .arg(source)
        .arg(target)
        .arg(format!("{variable}={}", with.compiler.display()))
        .arg(format!("BUILD={}", build.display()))
        .stdin(Stdio::null());
    let output = make.output().context("cannot run make")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{make:?} failed: {}", said.trim());
    }
    Ok(build)
}

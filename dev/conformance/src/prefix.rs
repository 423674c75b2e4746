//! The installation that is tested.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Names a prefix that is installed already.
pub const PREFIX_VARIABLE: &str = "FERROSHMEM_PREFIX";

/// An installation: `bin/oshcc`, `bin/oshrun`, `lib/`, `include/`.
#[derive(Debug, Clone)]
pub struct Prefix {
    root: PathBuf,
}

impl Prefix {
    /// The prefix named by [`PREFIX_VARIABLE`], else one installed from this source tree
    /// into the target directory.
    pub fn find() -> Result<Self> {
        let root = match env::var_os(PREFIX_VARIABLE) {
            Some(path) => PathBuf::from(path),
            None => install()?,
        };
        let this = Self { root };
        for file in [this.bin("oshrun"), this.bin("oshcc"), this.include().join("shmem.h")] {
            if !file.exists() {
                bail!("{} is missing: not an installation of FerroSHMEM", file.display());
            }
        }
        Ok(this)
    }

    /// The prefix itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of a command.
    pub fn bin(&self, command: &str) -> PathBuf {
        self.root.join("bin").join(command)
    }

    /// Directory of the headers.
    pub fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Path of a library.
    pub fn library(&self, file: &str) -> PathBuf {
        self.root.join("lib").join(file)
    }
}

/// Folder of this crate.
pub fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Folder of the workspace, which this crate lies two levels below.
pub fn workspace() -> &'static Path {
    let root = crate_folder().ancestors().nth(2);
    root.unwrap_or(crate_folder())
}

fn install() -> Result<PathBuf> {
    let workspace = workspace();
    let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace.join("target"), PathBuf::from);
    let prefix = target.join("conformance-prefix");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["xtask", "install", "--prefix"])
        .arg(&prefix)
        .current_dir(workspace)
        .status()
        .context("cannot run cargo xtask install")?;
    if !status.success() {
        bail!("cargo xtask install --prefix {} failed: {status}", prefix.display());
    }
    Ok(prefix)
}

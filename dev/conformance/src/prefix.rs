//! The installation that is tested.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::compile::Language;
use crate::target::{Processor, Target};

/// Names a prefix that is installed already.
pub const PREFIX_VARIABLE: &str = "FERROSHMEM_PREFIX";

/// If it is set, the programs of all tests are for another processor, and an emulator runs them: riscv64, or aarch64.
const EMULATED_VARIABLE: &str = "FERROSHMEM_EMULATED";

/// An installation: `bin/oshcc`, `bin/oshrun`, `lib/`, `include/`.
#[derive(Debug, Clone)]
pub struct Prefix {
    root: PathBuf,
    /// Where programs are for another processor.
    target: Option<Target>,
}

impl Prefix {
    /// The prefix named by [`PREFIX_VARIABLE`], else one installed from this source tree
    /// into the target directory.
    pub fn find() -> Result<Self> {
        let root = match env::var_os(PREFIX_VARIABLE) {
            Some(path) => PathBuf::from(path),
            None => install()?,
        };
        let this = Self { root, target: None };
        for file in [this.bin("oshrun"), this.bin("oshcc"), this.include().join("shmem.h")] {
            if !file.exists() {
                bail!("{} is missing: not an installation of FerroSHMEM", file.display());
            }
        }
        match env::var_os(EMULATED_VARIABLE) {
            Some(name) => this.emulated(Processor::of(&name)),
            None => Ok(this),
        }
    }

    /// The prefix itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of a command.
    pub fn bin(&self, command: &str) -> PathBuf {
        self.root.join("bin").join(command)
    }

    /// The same, with programs for another processor.
    pub fn with_target(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }

    /// Path of the wrapper that compiles a language for the programs' processor.
    pub fn wrapper(&self, language: Language) -> PathBuf {
        let wrapper = if language == Language::Cxx { "oshc++" } else { "oshcc" };
        match &self.target {
            Some(target) => target.root.join("bin").join(format!("{}-{wrapper}", target.gnu)),
            None => self.bin(wrapper),
        }
    }

    /// The command that runs a program, before its path: empty on its own processor.
    pub fn emulator(&self) -> &[String] {
        self.target.as_ref().map_or(&[], |target| &target.emulator)
    }

    /// The name of a compiler for the programs' processor.
    pub fn compiler(&self, name: &str) -> String {
        self.target.as_ref().map_or(name.to_owned(), |target| format!("{}-{name}", target.gnu))
    }

    /// The package that has that compiler.
    pub(crate) fn compiler_package(&self, name: &str) -> String {
        self.target.as_ref().map_or(name.to_owned(), |target| format!("{name}-{}", target.gnu))
    }

    /// Directory of the headers.
    pub fn include(&self) -> PathBuf {
        self.target.as_ref().map_or(&self.root, |target| &target.root).join("include")
    }

    /// Path of a library.
    pub fn library(&self, file: &str) -> PathBuf {
        self.target.as_ref().map_or(&self.root, |target| &target.root).join("lib").join(file)
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

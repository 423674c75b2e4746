//! Where the sources are and where cargo puts what it builds.

use anyhow::{Context, Result};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directory of the workspace.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Cargo's target directory. This program itself was built into it, which holds however the
/// directory was chosen (option, environment, configuration).
pub fn target() -> Result<PathBuf> {
    let program = env::current_exe().context("cannot tell where this program is")?;
    let profile = program.parent().context("this program has no directory")?;
    Ok(profile.parent().unwrap_or(profile).to_owned())
}

/// A cargo command for this workspace, in the directory that the user is in: relative paths in
/// the environment keep their meaning.
pub fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .arg(subcommand)
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"));
    command
}

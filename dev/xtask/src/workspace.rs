//! Where the sources are and where cargo puts what it builds.

use anyhow::{Context, Result};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Directory of the workspace: the one that cargo runs this program for, which is not always
/// the one that it was built in, if two checkouts share a target directory.
pub(crate) fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let package =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        package.ancestors().nth(2).unwrap_or(&package).to_owned()
    })
}

/// Cargo's target directory. This program itself was built into it, which holds however the
/// directory was chosen (option, environment, configuration).
pub(crate) fn target() -> Result<PathBuf> {
    let program = env::current_exe().context("the path of this program is unknown")?;
    let profile = program.parent().context("this program has no directory")?;
    Ok(profile.parent().unwrap_or(profile).to_owned())
}

/// A cargo command for this workspace, in the directory that the user is in: relative paths in
/// the environment keep their meaning.
pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).arg("--manifest-path").arg(root().join("Cargo.toml"));
    command
}

#[cfg(test)]
mod tests {
    use super::cargo;
    use crate::run::printed;
    use std::collections::BTreeSet;

    /// Cargo builds this program by itself first: crates with other features than in the workspace would be compiled
    /// twice, with all that is over them.
    #[test]
    fn crates_have_the_features_of_the_workspace() {
        let crates = |edges: &str, of: &[&str]| -> BTreeSet<String> {
            let mut tree = cargo("tree");
            tree.args(["--offline", "--prefix=none", "--format={p} {f}", "--edges", edges]).args(of);
            let printed = printed(&mut tree).unwrap();
            printed.lines().map(|line| line.trim_end_matches(" (*)").to_owned()).collect()
        };
        let (own, all) = (crates("normal,build", &["--package=xtask"]), crates("all", &["--workspace"]));
        let others: Vec<_> = own.difference(&all).collect();
        assert!(own.len() > 1 && others.is_empty(), "{others:?}");
    }
}

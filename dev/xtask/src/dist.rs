//! `cargo xtask dist`: the files of a release: an installation, the sources, what they are made of, and checksums.

use crate::debian::sources;
use crate::run::{run, shown};
use crate::{install, sbom, workspace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory for the files
    #[arg(long, value_name = "DIR")]
    output: PathBuf,

    /// Packs this installation instead of a new one
    #[arg(long, value_name = "DIR", hide = true)]
    installed: Option<PathBuf>,
}

/// Makes the files.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn main(options: &Options) -> Result<()> {
    let output = path::absolute(&options.output)?;
    fs::create_dir_all(&output).with_context(|| format!("cannot make the directory {}", output.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("ferroshmem-{version}-x86_64-linux");
    let unpacked = output.join(&name);
    ensure!(
        !unpacked.exists(),
        "{} is there already: remove it, or name another directory",
        shown(&unpacked).display()
    );
    match &options.installed {
        Some(installed) => {
            let mut copy = Command::new("cp");
            run(copy.arg("-a").arg(installed).arg(&unpacked))?;
        }
        None => install::into(&unpacked, false)?,
    }
    for licence in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md"] {
        let folder = unpacked.join("share/doc/ferroshmem");
        fs::create_dir_all(&folder)?;
        fs::copy(workspace::root().join(licence), folder.join(licence))?;
    }
    let binaries = format!("{name}.tar.gz");
    let mut tar = Command::new("tar");
    tar.args(["-czf", &binaries, "--sort=name", "--owner=0", "--group=0"]);
    run(tar.args(["--numeric-owner", &name]).current_dir(&output))?;
    fs::remove_dir_all(&unpacked)?;

    let archive = format!("ferroshmem-{version}.tar.gz");
    sources(&output.join(&archive), &format!("ferroshmem-{version}"))?;
    let bom = format!("ferroshmem-{version}.cdx.json");
    fs::write(output.join(&bom), format!("{:#}\n", sbom::document()?))?;
    let sums = sums(&output, &[&binaries, &archive, &bom])?;
    fs::write(output.join("SHA256SUMS"), sums)?;
    let changes = fs::read_to_string(workspace::root().join("CHANGELOG.md"))?;
    fs::write(output.join("notes.md"), notes(&changes, version))?;
    println!("Made the files of {version} in {}", shown(&output).display());
    Ok(())
}

/// What `sha256sum --check` reads.
fn sums(folder: &Path, files: &[&str]) -> Result<String> {
    let mut sum = Command::new("sha256sum");
    let output = sum.args(files).current_dir(folder).output();
    let output = output.context("cannot run sha256sum (coreutils)")?;
    ensure!(output.status.success(), "sha256sum failed");
    Ok(String::from_utf8(output.stdout)?)
}

/// The part of the changelog about a version; before that has one, what is not released.
fn notes(changelog: &str, version: &str) -> String {
    let sections: Vec<&str> = changelog.split("\n## ").skip(1).collect();
    let of = |title: &str| sections.iter().find(|section| section.starts_with(title));
    let section = of(&format!("[{version}]")).or_else(|| of("[Unreleased]"));
    let text = section.and_then(|section| section.split_once('\n'));
    text.map_or_else(String::new, |(_, text)| format!("{}\n", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_of_the_version() {
        let log =
            "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\nold\n\n## [0.0.1]\n\nx\n";
        assert_eq!(notes(log, "0.1.0"), "### Added\n\nold\n");
        assert_eq!(notes(log, "0.2.0"), "new\n");
    }
}

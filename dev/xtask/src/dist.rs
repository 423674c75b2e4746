//! `cargo xtask dist`: the files of a release: an installation, the sources, what they are made of, and checksums.

use crate::debian::sources;
use crate::run::{printed, run, shown, works};
use crate::{install, workspace};
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

    /// Leaves out the list of what the files are made of, which cargo-cyclonedx makes
    #[arg(long)]
    without_sbom: bool,

    /// Packs this installation instead of a new one
    #[arg(long, value_name = "DIR", hide = true)]
    installed: Option<PathBuf>,
}

/// What the installation has of crates: the folder and name of each of their roots.
const ROOTS: [(&str, &str); 2] = [("libshmem", "ferroshmem-libshmem"), ("crates/tools", "ferroshmem-tools")];

/// The platform of releases.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Makes the files.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn main(options: &Options) -> Result<()> {
    let output = path::absolute(&options.output)?;
    fs::create_dir_all(&output).with_context(|| format!("cannot make the directory {}", output.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let name = format!("ferroshmem-{version}-x86_64-linux");
    ensure!(
        options.without_sbom || works(cyclonedx().arg("--version")),
        "cargo-cyclonedx lists what a release is made of, and is not installed: cargo install --locked \
            cargo-cyclonedx@0.5.9 (or leave the lists out by --without-sbom)"
    );
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
    let mut files = vec![binaries, archive];
    if !options.without_sbom {
        files.extend(sboms(&output, version)?);
    }
    let sums = sums(&output, &files)?;
    fs::write(output.join("SHA256SUMS"), sums)?;
    let changes = fs::read_to_string(workspace::root().join("CHANGELOG.md"))?;
    fs::write(output.join("notes.md"), notes(&changes, version))?;
    println!("Made the files of {version} in {}", shown(&output).display());
    Ok(())
}

/// Lists of the crates that are compiled into the library and the commands, in CycloneDX's format; their names. The
/// tool writes one beside each manifest of a workspace, so it reads the sources of the release.
fn sboms(output: &Path, version: &str) -> Result<Vec<String>> {
    let sources = output.join(format!("ferroshmem-{version}"));
    let mut unpack = Command::new("tar");
    run(unpack.arg("-xzf").arg(format!("ferroshmem-{version}.tar.gz")).current_dir(output))?;
    let mut list = cyclonedx();
    list.args(["--quiet", "--format", "json", "--spec-version", "1.5", "--no-build-deps"]);
    run(list.args(["--target", PLATFORM, "--manifest-path"]).arg(sources.join("Cargo.toml")))?;
    let mut names = Vec::new();
    for (folder, root) in ROOTS {
        let name = format!("{root}-{version}.cdx.json");
        fs::copy(sources.join(folder).join(format!("{root}.cdx.json")), output.join(&name))?;
        names.push(name);
    }
    fs::remove_dir_all(sources)?;
    Ok(names)
}

/// The tool, as cargo calls it.
fn cyclonedx() -> Command {
    let mut command = Command::new("cargo-cyclonedx");
    command.arg("cyclonedx");
    command
}

/// What `sha256sum --check` reads.
fn sums(folder: &Path, files: &[String]) -> Result<String> {
    printed(Command::new("sha256sum").args(files).current_dir(folder))
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

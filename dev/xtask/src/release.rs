//! `cargo xtask release`: from a clean clone to the tag and the files of a release.

use crate::run::{line, printed, run, shown};
use crate::{link, workspace};
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::collections::BTreeSet;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// The version to release, as 0.2.0
    version: String,

    /// Says what would be done, and changes nothing
    #[arg(long)]
    dry_run: bool,

    /// Pushes commit and tag to this remote, both or none
    #[arg(long, value_name = "REMOTE")]
    push: Option<String>,

    /// Directory for the files (target/release-VERSION)
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// Leaves out the list of what the files are made of, which cargo-cyclonedx makes
    #[arg(long)]
    without_sbom: bool,

    /// Packs this installation instead of a new one
    #[arg(long, value_name = "DIR", hide = true)]
    installed: Option<PathBuf>,
}

/// The version that the workspace has before.
const OLD: &str = env!("CARGO_PKG_VERSION");

/// Where all names are that the library exports: the headers that declare each routine, and the linker's list.
const NAMES: [&str; 4] =
    ["include/shmem/api.h", "include/shmemx.h", "include/shmem/extensions.h", "libshmem/exports.map"];

/// Releases a version.
///
/// # Errors
/// If the clone is not ready, or a step fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    let new = options.version.as_str();
    let tag = format!("v{new}");
    ensure!(
        numbers(new).is_some_and(|new| Some(new) >= numbers(OLD)),
        "{new:?} cannot be released: give three numbers, {OLD} or more"
    );
    let changed = git(&["status", "--porcelain"])?;
    ensure!(changed.is_empty(), "the clone has changes, so commit them first:\n{}", changed.trim_end());
    let known = git(&["tag", "--list", &tag])?;
    let remote = options.push.as_deref();
    let there = remote.map(|remote| git(&["ls-remote", "--tags", remote, &tag])).transpose()?;
    ensure!(
        known.is_empty() && there.unwrap_or_default().is_empty(),
        "{tag} is released already: give a later version"
    );
    keeps_names()?;
    let edits = edits(new)?;
    let output = match &options.output {
        Some(output) => path::absolute(output)?,
        None => workspace::target()?.join(format!("release-{new}")),
    };
    let steps = steps(options, &output, &tag);
    let mut push = of_git(&["push", "--atomic", remote.unwrap_or("origin"), "HEAD", &tag]);
    if options.dry_run {
        for edit in &edits {
            println!("write {}", edit.path);
        }
        for step in steps.iter().chain([&push]) {
            println!("{}", line(step));
        }
        return Ok(());
    }
    let before = git(&["rev-parse", "HEAD"])?;
    for edit in &edits {
        edit.make()?;
    }
    for mut step in steps {
        let undo = || format!("{new} is not released; this undoes what was done: git reset --hard {}", before.trim());
        run(&mut step).with_context(undo)?;
    }
    println!("{tag} is tagged here, and its files are in {}", shown(&output).display());
    match remote {
        Some(_) => run(&mut push)?,
        None => println!("To push it: {}", line(&push)),
    }
    println!("Once CI has passed on the tag: cargo publish --workspace");
    Ok(())
}

/// What is run once the files are changed; the tag is last.
fn steps(options: &Options, output: &Path, tag: &str) -> Vec<Command> {
    let mut lock = workspace::cargo("update");
    lock.args(["--workspace", "--offline", "--quiet"]);
    let mut headers = workspace::cargo("run");
    headers.args(["--quiet", "-p", "ferroshmem-abi", "--", "--write"]);
    // This process has the version of before.
    let mut files = workspace::cargo("run");
    files.args(["--quiet", "-p", "xtask", "--", "dist", "--output"]).arg(output);
    files.args(options.without_sbom.then_some("--without-sbom"));
    if let Some(installed) = &options.installed {
        files.arg("--installed").arg(installed);
    }
    let version = &options.version;
    let add = of_git(&["add", "--all"]);
    // A version that is tested under its own number needs no change.
    let commit = of_git(&["commit", "--quiet", "--allow-empty", "-m", &format!("Release {version}")]);
    let tag = of_git(&["tag", "--annotate", "-m", &format!("FerroSHMEM {version}"), tag]);
    vec![lock, headers, add, commit, files, tag]
}

/// Three numbers.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = version.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}

fn of_git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(workspace::root()).args(arguments);
    git
}

/// What git prints.
fn git(arguments: &[&str]) -> Result<String> {
    printed(&mut of_git(arguments))
}

/// Programs of the last release run with this one: it has all names of that, or another soname.
fn keeps_names() -> Result<()> {
    let tags = git(&["tag", "--list", "v*", "--sort=-version:refname"])?;
    let Some(last) = tags.lines().next() else {
        return Ok(());
    };
    let names = |commit: &str| -> Result<BTreeSet<String>> {
        let texts = NAMES.iter().map(|file| git(&["show", &format!("{commit}:{file}")]));
        Ok(texts.collect::<Result<Vec<_>>>()?.iter().flat_map(|text| exported(text)).collect())
    };
    let linked = git(&["show", &format!("{last}:dev/xtask/src/link.rs")])?;
    if !linked.contains(&format!("SONAME: &str = \"{}\"", link::SONAME)) {
        return Ok(());
    }
    let now = names("HEAD")?;
    let gone: Vec<_> = names(last)?.into_iter().filter(|name| !now.contains(name)).take(5).collect();
    ensure!(
        gone.is_empty(),
        "{} of {last} has {}, which this lacks: keep them, or raise the number of the soname (docs/releasing.md)",
        link::SONAME,
        gone.join(", ")
    );
    Ok(())
}

/// The names in a header or the linker's list, but for patterns.
fn exported(text: &str) -> impl Iterator<Item = String> {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let names = words.filter_map(|word| {
        let name = word.strip_suffix(['(', ';'])?;
        (name.contains("shmem") || name.contains("_pe")).then(|| name.to_owned())
    });
    names.collect::<Vec<_>>().into_iter()
}

/// A file that has the version in it.
struct Edit {
    path: String,
    text: String,
    /// Its name before, if it has the version in its name.
    old_path: Option<String>,
}

impl Edit {
    fn make(&self) -> Result<()> {
        let file = workspace::root().join(&self.path);
        fs::write(&file, &self.text).with_context(|| format!("cannot write {}", file.display()))?;
        if let Some(old) = &self.old_path {
            fs::remove_file(workspace::root().join(old))?;
        }
        Ok(())
    }
}

/// The files that change.
fn edits(new: &str) -> Result<Vec<Edit>> {
    let read = |path: &str| {
        let file = workspace::root().join(path);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let today = |format: &str| -> Result<String> {
        let date = printed(Command::new("date").args(["--utc", format]).env("LC_ALL", "C"))?;
        Ok(date.trim().to_owned())
    };
    let edit = |path: &str, text: String| Edit { path: path.to_owned(), text, old_path: None };
    let log = changelog(&read("CHANGELOG.md")?, new, &today("+%F")?)?;
    let mut all = vec![edit("CHANGELOG.md", log)];
    let spack = "packaging/spack/package.py";
    let main = "    version(\"main\", branch=\"main\")\n";
    let text = read(spack)?;
    ensure!(text.contains(main), "{spack} has no line {}", main.trim());
    let released = format!("{main}    version(\"{new}\", tag=\"v{new}\")\n");
    all.push(edit(spack, text.replacen(main, &released, 1)));
    let easybuild = |version: &str| format!("packaging/easybuild/FerroSHMEM-{version}-GCCcore-14.3.0.eb");
    let text = read(&easybuild(OLD))?.replace(OLD, new).replace("'commit': 'main'", "'tag': 'v%(version)s'");
    all.push(Edit { path: easybuild(new), text, old_path: (new != OLD).then(|| easybuild(OLD)) });
    if new == OLD {
        return Ok(all);
    }
    let manifest = "Cargo.toml";
    let quoted = |version: &str| format!("version = \"{version}\"");
    all.push(edit(manifest, read(manifest)?.replace(&quoted(OLD), &quoted(new))));
    let debian = "packaging/debian/changelog";
    let first = format!(
        "ferroshmem ({new}-1local1) unstable; urgency=medium\n\n  * Package for local builds; CHANGELOG.md says what \
            is new.\n\n -- FerroSHMEM developers <ferroshmem@users.noreply.github.com>  {}\n\n",
        today("+%a, %d %b %Y %T +0000")?
    );
    all.push(edit(debian, first + &read(debian)?));
    Ok(all)
}

/// The changelog with what is not released as the section of a version.
fn changelog(log: &str, new: &str, date: &str) -> Result<String> {
    const UNRELEASED: &str = "\n## [Unreleased]";
    const LINK: &str = "\n[Unreleased]: ";

    let heading = format!("\n## [{new}]");
    ensure!(!log.contains(&heading), "CHANGELOG.md has a section [{new}] already: give a later version");
    let (before, rest) = log.split_once(UNRELEASED).context("CHANGELOG.md has no section [Unreleased]")?;
    let (_, rest) = rest.split_once('\n').unwrap_or_default();
    let section = rest.split("\n## ").next().unwrap_or_default();
    ensure!(section.contains("\n- "), "CHANGELOG.md says nothing of {new}: write what is new below [Unreleased]");
    let (sections, links) = rest.split_once(LINK).context("CHANGELOG.md has no link of [Unreleased]")?;
    let (_, others) = links.split_once('\n').unwrap_or_default();
    let repository = env!("CARGO_PKG_REPOSITORY");
    Ok(format!(
        "{before}{UNRELEASED}\n{heading} - {date}\n{sections}{LINK}{repository}/compare/v{new}...HEAD\n[{new}]: \
            {repository}/releases/tag/v{new}\n{others}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "# Changelog\n\n## [Unreleased] (0.2.0)\n\n### Added\n\n- new\n\n## [0.1.0]\n\n- \
                           old\n\n[Unreleased]: https://h/commits/main\n[0.1.0]: https://h/0.1.0\n";

    #[test]
    fn what_is_new_becomes_a_section() {
        let log = changelog(LOG, "0.2.0", "2026-12-01").unwrap();
        let repository = env!("CARGO_PKG_REPOSITORY");
        assert_eq!(
            log,
            format!(
                "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-12-01\n\n### Added\n\n- new\n\n## [0.1.0]\n\n- \
                     old\n\n[Unreleased]: {repository}/compare/v0.2.0...HEAD\n\
                     [0.2.0]: {repository}/releases/tag/v0.2.0\n[0.1.0]: https://h/0.1.0\n"
            )
        );
        let again = changelog(&log, "0.3.0", "2026-12-02").unwrap_err().to_string();
        assert!(again.contains("says nothing of 0.3.0"), "{again}");
        assert!(changelog(LOG, "0.1.0", "").unwrap_err().to_string().contains("[0.1.0] already"));
    }

    #[test]
    fn versions_are_three_numbers() {
        assert!(numbers("0.10.0") > numbers("0.9.1") && numbers("0.9.1").is_some());
        assert!(["1.0", "v1.0.0", "1.0.0-rc1", ""].iter().all(|version| numbers(version).is_none()));
    }

    #[test]
    fn names_are_those_of_functions_and_of_the_list() {
        let names: Vec<_> = exported("void shmem_p(int *a);\n  shmemi_copy;\n  shmem_*;\n  _my_pe;\n int b;").collect();
        assert_eq!(names, ["shmem_p", "shmemi_copy", "_my_pe"]);
    }
}

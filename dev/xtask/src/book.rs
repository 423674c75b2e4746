//! `cargo xtask book`: the book of `docs/`, with the reference of the routines, as HTML.

use crate::run::{run, works};
use crate::workspace;
use anyhow::{Context, Result};
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where files are that are no part of the book.
const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory that gets the pages
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// Copies `docs/` to the target folder, writes the reference beside it, and has mdBook build all of it.
///
/// # Errors
/// If mdBook is not installed, or fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    anyhow::ensure!(
        works(Command::new("mdbook").arg("--version")),
        "mdbook is not installed: cargo install mdbook --version '^0.5' --no-default-features --features search"
    );
    let folder = workspace::target()?.join("book");
    let source = folder.join("source");
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    copy(&workspace::root().join("docs"), &source, "../")?;
    let reference = source.join("reference");
    run(workspace::cargo("run").args(["--quiet", "--package", "ferroshmem-abi", "--", "--markdown"]).arg(&source))?;
    let chapters = fs::read_to_string(reference.join("SUMMARY.md"))?;
    let summary = source.join("SUMMARY.md");
    let text = fs::read_to_string(&summary)? + &chapters;
    fs::write(&summary, text)?;
    fs::remove_file(reference.join("SUMMARY.md"))?;
    let pages = match &options.to {
        Some(folder) => std::path::absolute(folder)?,
        None => folder.join("html"),
    };
    run(Command::new("mdbook").arg("build").arg("--dest-dir").arg(&pages).arg(&source))?;
    println!("The book is {}", pages.join("index.html").display());
    Ok(())
}

/// Copies a folder with all that is in it. Links of pages that lead out of `docs/`, by `out`, become links to the
/// repository.
fn copy(from: &Path, to: &Path, out: &str) -> Result<()> {
    fs::create_dir_all(to)?;
    let entries = fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))?;
    for entry in entries {
        let (path, target) = entry.map(|e| (e.path(), to.join(e.file_name())))?;
        if path.is_dir() {
            copy(&path, &target, &format!("../{out}"))?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(&path)?;
            fs::write(target, text.replace(&format!("]({out}"), &format!("]({REPOSITORY}/")))?;
        } else {
            fs::copy(path, target)?;
        }
    }
    Ok(())
}

//! `cargo xtask install`: builds and installs under a prefix.

use crate::files::{DATA, PROGRAM, Tree, below};
use crate::run::{run, shown, works};
use crate::{package, workspace};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{self, Path, PathBuf};
use std::process::Command;

/// Names under which C++ users look for the wrapper; it looks at the name it is started by.
const CXX_NAMES: &[&str] = &["bin/oshc++", "bin/oshCC", "bin/oshcxx"];

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// Directory to install into; it gets bin/, include/, lib/ and share/
    #[arg(long, value_name = "DIR")]
    prefix: PathBuf,

    /// Puts everything below this directory, as if it were the root (to make packages)
    #[arg(long, value_name = "DIR")]
    destdir: Option<PathBuf>,

    /// Builds without optimisation and keeps the debugging information
    #[arg(long)]
    debug: bool,
}

/// Builds and installs.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn main(options: &Options) -> Result<()> {
    let prefix = path::absolute(&options.prefix)
        .with_context(|| format!("--prefix {}", options.prefix.display()))?;
    let root = match &options.destdir {
        Some(destdir) => path::absolute(destdir)?.join(prefix.strip_prefix("/")?),
        None => prefix,
    };
    into(&root, options.debug)?;
    println!(
        "Installed in {}: compile with {0}/bin/oshcc, run with {0}/bin/oshrun",
        root.display()
    );
    Ok(())
}

/// Builds and installs into the directory `root`.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn into(root: &Path, debug: bool) -> Result<()> {
    let [commands, library] = match debug {
        true => ["dev", "dev"],
        false => ["commands", "release"],
    };
    let commands = build("ferroshmem-tools", commands)?;
    let library = build("ferroshmem-libshmem", library)?;

    let strip = !debug && works(Command::new("strip").arg("--version"));
    if !debug && !strip {
        eprintln!("note: no strip command (binutils): the files keep their debugging information");
    }
    let stripped = |option: &'static str| {
        move |file: &Path| match strip {
            true => run_quietly(Command::new("strip").arg(option).arg(file)),
            false => Ok(()),
        }
    };

    let mut tree = Tree::new(root.to_owned());
    for program in ["oshrun", "oshcc", "oshmem_info", "oshtune"] {
        let to = format!("bin/{program}");
        tree.copy(
            &commands.join(program),
            &to,
            PROGRAM,
            stripped("--strip-all"),
        )?;
    }
    for name in CXX_NAMES {
        tree.link("oshcc", name)?;
    }
    let shared = library.join("libshmem.so");
    tree.copy(
        &shared,
        "lib/libshmem.so.1",
        PROGRAM,
        stripped("--strip-unneeded"),
    )?;
    tree.link("libshmem.so.1", "lib/libshmem.so")?;
    let archive = library.join("libshmem.a");
    tree.copy(&archive, "lib/libshmem.a", DATA, stripped("--strip-debug"))?;

    let headers = workspace::root().join("include");
    for header in below(&headers, ".h")? {
        tree.copy(
            &headers.join(&header),
            &format!("include/{header}"),
            DATA,
            |_| Ok(()),
        )?;
    }
    package::install(&mut tree)?;
    eprintln!(
        "+ installed {} files in {}",
        tree.installed().len(),
        shown(root).display()
    );
    Ok(())
}

/// Builds a package; returns the folder that cargo puts the results in.
fn build(package: &str, profile: &str) -> Result<PathBuf> {
    let mut build = workspace::cargo("build");
    build.args(["--package", package, "--profile", profile]);
    run(&mut build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(workspace::target()?.join(folder))
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot run strip")?;
    anyhow::ensure!(
        output.status.success(),
        "strip failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

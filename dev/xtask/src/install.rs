//! `cargo xtask install`: builds and installs under a prefix.

use crate::files::{DATA, PROGRAM, Tree, below};
use crate::run::{run, shown, works};
use crate::{link, package, workspace};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{self, Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

/// Names under which C++ users look for the wrapper; it looks at the name it is started by.
const CXX_NAMES: &[&str] = &["bin/oshc++", "bin/oshCC", "bin/oshcxx"];

/// Shells, and where they look for what completes command lines of a program.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/oshrun"),
    ("zsh", "share/zsh/site-functions/_oshrun"),
    ("fish", "share/fish/vendor_completions.d/oshrun.fish"),
];

/// The commands of an installation.
pub(crate) const PROGRAMS: &[&str] = &["oshrun", "oshcc", "oshmem_info", "oshtune"];

/// Those for a first look.
const FIRST_LOOK: &[&str] = &["oshrun", "oshcc"];

/// What `oshrun --check` preloads.
const CHECKS: &str = "ferroshmem-libshmem-check";

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

    /// Takes the commands from this directory, where they were built before
    #[arg(long, value_name = "DIR", hide = true)]
    commands: Option<PathBuf>,

    /// Takes the commands and the library from this directory
    #[arg(long, value_name = "DIR", hide = true)]
    built: Option<PathBuf>,
}

/// Builds and installs.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn main(options: &Options) -> Result<()> {
    let prefix = path::absolute(&options.prefix).with_context(|| format!("--prefix {}", options.prefix.display()))?;
    let root = match &options.destdir {
        Some(destdir) => path::absolute(destdir)?.join(prefix.strip_prefix("/")?),
        None => prefix,
    };
    let built =
        Built { commands: options.commands.as_deref().or(options.built.as_deref()), library: options.built.as_deref() };
    build_into(&root, options.debug, &built)?;
    println!("Installed in {}: compile with {0}/bin/oshcc, run with {0}/bin/oshrun", root.display());
    Ok(())
}

/// Builds and installs into the directory `root`.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn into(root: &Path, debug: bool) -> Result<()> {
    build_into(root, debug, &Built::default())
}

/// Builds and installs what a first look needs: the library, without optimisation, `oshrun` and `oshcc`.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn first_look_into(root: &Path) -> Result<()> {
    let mut build = workspace::cargo("build");
    build.args(["--profile", "demo", "--lib"]);
    for package in ["ferroshmem-libshmem", "ferroshmem-tools"] {
        build.args(["--package", package]);
    }
    for program in FIRST_LOOK {
        build.args(["--bin", program]);
    }
    run(&mut build)?;
    let built = workspace::target()?.join("demo");
    let parts = Parts { programs: FIRST_LOOK, has_checks: false, pages: None, strip: false };
    install_from(root, &built, &built, &parts)
}

/// Folders of what was built before.
#[derive(Default)]
struct Built<'a> {
    commands: Option<&'a Path>,
    library: Option<&'a Path>,
}

fn build_into(root: &Path, debug: bool, built: &Built<'_>) -> Result<()> {
    let [commands, library] = match debug {
        true => ["dev", "dev"],
        false => ["commands", "release"],
    };
    let pages = manual_pages(built.commands, commands)?;
    let commands = match built.commands {
        Some(folder) => folder.to_owned(),
        None => build(&["ferroshmem-tools"], commands)?,
    };
    let library = match built.library {
        Some(folder) => folder.to_owned(),
        None => build(&["ferroshmem-libshmem", CHECKS], library)?,
    };
    let strip = !debug && works(Command::new("strip").arg("--version"));
    if !debug && !strip {
        eprintln!("note: no strip command (binutils): the files keep their debugging information");
    }
    let parts = Parts { programs: PROGRAMS, has_checks: true, pages: Some(&pages), strip };
    install_from(root, &commands, &library, &parts)?;
    Ok(fs::remove_dir_all(pages)?)
}

/// Writes the manual pages of the reference to a folder of this process, and returns it. Where the commands were built
/// before, so was the program that writes them, beside this one.
fn manual_pages(commands_in: Option<&Path>, profile: &str) -> Result<PathBuf> {
    const WRITER: &str = "ferroshmem-abi";

    let folder = workspace::target()?.join(format!("manual-{}", process::id()));
    let beside = env::current_exe()?.with_file_name(WRITER);
    let mut write = if commands_in.is_some() && beside.is_file() {
        Command::new(beside)
    } else {
        let mut cargo = workspace::cargo("run");
        cargo.args(["--quiet", "--profile", profile, "--package", WRITER, "--"]);
        cargo
    };
    let output = write.arg("--manual").arg(&folder).output();
    let output = output.context("cannot run the program that writes the manual pages")?;
    anyhow::ensure!(
        output.status.success(),
        "the manual pages cannot be written: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(folder)
}

/// What of an installation is made.
struct Parts<'a> {
    programs: &'a [&'a str],
    /// Whether what `oshrun --check` preloads is.
    has_checks: bool,
    /// The folder of the manual pages of the reference.
    pages: Option<&'a Path>,
    /// Whether debugging information is taken out.
    strip: bool,
}

/// Installs parts of what was built in two folders.
fn install_from(root: &Path, commands: &Path, library: &Path, parts: &Parts<'_>) -> Result<()> {
    let stripped = |option: &'static str| {
        move |file: &Path| match parts.strip {
            true => run_quietly(Command::new("strip").arg(option).arg(file)),
            false => Ok(()),
        }
    };

    let mut tree = Tree::new(root.to_owned());
    for program in parts.programs {
        let to = format!("bin/{program}");
        tree.copy(&commands.join(program), &to, PROGRAM, stripped("--strip-all"))?;
    }
    for (shell, to) in COMPLETIONS {
        let mut generate = Command::new(commands.join("oshrun"));
        let output = generate.args(["--generate", shell]).output();
        let output = output.context("cannot run the oshrun that was built")?;
        anyhow::ensure!(output.status.success(), "oshrun --generate {shell} failed");
        tree.write(to, &String::from_utf8_lossy(&output.stdout))?;
    }
    for name in CXX_NAMES {
        tree.link("oshcc", name)?;
    }
    let archive = library.join("libshmem.a");
    tree.make(&format!("lib/{}", link::SONAME), PROGRAM, |file| {
        link::shared_library(&link::LIBRARY, &archive, file)?;
        stripped("--strip-unneeded")(file)
    })?;
    if parts.has_checks {
        let checks = library.join("libshmem_check.a");
        tree.make(&format!("lib/{}", link::CHECKS.soname), PROGRAM, |file| {
            link::shared_library(&link::CHECKS, &checks, file)?;
            stripped("--strip-unneeded")(file)
        })?;
        tree.make(&format!("lib/{}", link::ACCESSES), PROGRAM, |file| {
            link::accesses(file)?;
            stripped("--strip-unneeded")(file)
        })?;
    }
    tree.link(link::SONAME, "lib/libshmem.so")?;
    tree.copy(&archive, "lib/libshmem.a", DATA, stripped("--strip-debug"))?;
    // The name of the library in SGI's and Cray's implementations, which makefiles have as -lsma.
    tree.link(link::SONAME, "lib/libsma.so")?;
    tree.link("libshmem.a", "lib/libsma.a")?;

    let headers = workspace::root().join("include");
    // Beside the headers, the main that `oshcc --kernels` links.
    let main = below(&headers, ".c")?;
    for header in below(&headers, ".h")?.into_iter().chain(main) {
        tree.copy(&headers.join(&header), &format!("include/{header}"), DATA, |_| Ok(()))?;
    }
    package::install(&mut tree, parts.pages)?;
    eprintln!("+ installed {} files in {}", tree.installed().len(), shown(root).display());
    Ok(())
}

/// Builds packages; returns the folder that cargo puts the results in.
fn build(packages: &[&str], profile: &str) -> Result<PathBuf> {
    let mut build = workspace::cargo("build");
    build.args(["--profile", profile]);
    for package in packages {
        build.args(["--package", package]);
    }
    run(&mut build)?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(workspace::target()?.join(folder))
}

fn run_quietly(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot run strip")?;
    anyhow::ensure!(output.status.success(), "strip failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

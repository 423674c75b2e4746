//! `cargo xtask install`: builds and installs under a prefix.

use crate::files::{DATA, PROGRAM, Tree, below};
use crate::run::{printed, run, shown, works};
use crate::target::{self, Target};
use crate::{link, package, workspace};
use anyhow::{Context, Result};
use clap::Args;
use std::path::{self, Path, PathBuf};
use std::process::{self, Command};
use std::{env, fs};

/// Names under which users of C++ and Fortran look for the wrapper; it looks at the name it is started by.
const WRAPPER_NAMES: &[&str] = &["oshc++", "oshCC", "oshcxx", "oshfort"];

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
const CHECKS_ARCHIVE: &str = "libshmem_check.a";

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

    /// Builds for another machine, as aarch64-unknown-linux-gnu, by a cross compiler: bin/ gets that machine's
    /// commands, and for this machine wrappers like aarch64-linux-gnu-oshcc
    #[arg(long, value_name = "TARGET")]
    target: Option<Target>,

    /// Leaves the other machine's commands out
    #[arg(long, requires = "target")]
    without_commands: bool,

    /// Takes the commands, and what --check preloads, from this directory, if they were built there before
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
    let build = Build {
        debug: options.debug,
        target: options.target.as_ref(),
        programs: if options.without_commands { &[] } else { PROGRAMS },
        commands: options.commands.as_deref().or(options.built.as_deref()),
        library: options.built.as_deref(),
    };
    build.install_into(&root)?;
    let wrapper = options.target.as_ref().map_or("oshcc".to_owned(), wrapper);
    println!("Installed in {}: compile with {0}/bin/{wrapper}, run with {0}/bin/oshrun", root.display());
    Ok(())
}

/// Builds and installs into the directory `root`.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn into(root: &Path, debug: bool) -> Result<()> {
    Build { debug, target: None, programs: PROGRAMS, commands: None, library: None }.install_into(root)
}

/// Builds and installs what a first look needs: the library, without optimisation, `oshrun` and `oshcc`. By the profile
/// of this program and with its features: it has built a part of what they depend on. If the tests are `built`, of
/// their crates: for the workspace with an example, features are those of tests.
///
/// # Errors
/// If something cannot be built or written.
pub(crate) fn first_look_into(root: &Path, built: bool) -> Result<()> {
    let mut build = workspace::cargo("build");
    build.arg("--lib").args(match built {
        true => ["--workspace", "--exclude", CHECKS, "--example", "hello"].as_slice(),
        false => &["--package", "ferroshmem-libshmem", "--package", "ferroshmem-tools", "--package", "xtask"],
    });
    for program in FIRST_LOOK {
        build.args(["--bin", program]);
    }
    run(&mut build)?;
    let built = workspace::target()?.join("debug");
    let parts = Parts {
        target: None,
        commands: &built,
        own: &built,
        programs: FIRST_LOOK,
        library: &built,
        checks: None,
        pages: None,
        compat: None,
        fortran: None,
        optimised: false,
        strip: None,
    };
    parts.install(root)
}

/// What is built and installed.
struct Build<'a> {
    debug: bool,
    target: Option<&'a Target>,
    programs: &'static [&'static str],
    /// Folders of what was built before: this machine's commands, the library.
    commands: Option<&'a Path>,
    library: Option<&'a Path>,
}

impl Build<'_> {
    fn install_into(&self, root: &Path) -> Result<()> {
        let [commands_by, library_by] = match self.debug {
            true => ["dev", "dev"],
            false => ["commands", "release"],
        };
        let whole = !self.programs.is_empty();
        let written_by = |what| written(what, self.commands, commands_by);
        let if_whole = |what| whole.then(|| written_by(what)).transpose();
        let (pages, compat, fortran) = (if_whole("manual")?, if_whole("compat")?, written_by("fortran")?);
        let own = match self.commands {
            Some(folder) => folder.to_owned(),
            None => build(&["ferroshmem-tools"], None, commands_by)?,
        };
        let commands = match self.target {
            Some(_) if whole => build(&["ferroshmem-tools"], self.target, commands_by)?,
            _ => own.clone(),
        };
        let checks = self.commands.filter(|folder| folder.join(CHECKS_ARCHIVE).is_file());
        let packages: &[_] = match whole && checks.is_none() {
            true => &["ferroshmem-libshmem", CHECKS],
            false => &["ferroshmem-libshmem"],
        };
        let library = match self.library {
            Some(folder) => folder.to_owned(),
            None => build(packages, self.target, library_by)?,
        };
        let strip = (!self.debug).then(|| target::strip(self.target));
        let strip = strip.filter(|strip| {
            let works = works(Command::new(strip).arg("--version"));
            if !works {
                eprintln!("note: no {strip} command (binutils): the files keep their debugging information");
            }
            works
        });
        let parts = Parts {
            target: self.target,
            commands: &commands,
            own: &own,
            programs: self.programs,
            library: &library,
            checks: whole.then(|| checks.unwrap_or(&library)),
            pages: pages.as_deref(),
            compat: compat.as_deref(),
            fortran: Some(&fortran),
            optimised: !self.debug,
            strip,
        };
        parts.install(root)?;
        pages.iter().chain(&compat).chain([&fortran]).try_for_each(fs::remove_dir_all)?;
        Ok(())
    }
}

/// Writes what is made from the table of routines, such as `manual`, to a folder of this process, and returns it. Where
/// the commands were built before, so was the program that writes it, beside this one.
fn written(what: &str, commands_in: Option<&Path>, profile: &str) -> Result<PathBuf> {
    const WRITER: &str = "ferroshmem-abi";

    let folder = workspace::target()?.join(format!("{what}-{}", process::id()));
    let beside = env::current_exe()?.with_file_name(WRITER);
    let mut write = if commands_in.is_some() && beside.is_file() {
        Command::new(beside)
    } else {
        let mut cargo = workspace::cargo("run");
        cargo.args(["--quiet", "--profile", profile, "--package", WRITER, "--"]);
        cargo
    };
    printed(write.arg(format!("--{what}")).arg(&folder))?;
    Ok(folder)
}

/// What of an installation is made, and the folders of what was built.
struct Parts<'a> {
    target: Option<&'a Target>,
    commands: &'a Path,
    /// The commands that this machine runs.
    own: &'a Path,
    programs: &'a [&'a str],
    library: &'a Path,
    /// The folder of what `oshrun --check` preloads.
    checks: Option<&'a Path>,
    /// The folder of the manual pages.
    pages: Option<&'a Path>,
    /// The folder of the sources of libraries for programs of other OpenSHMEMs.
    compat: Option<&'a Path>,
    /// The folder of what Fortran programs include, and of the source of their library.
    fortran: Option<&'a Path>,
    optimised: bool,
    /// What takes debugging information out, if it is to be.
    strip: Option<String>,
}

impl Parts<'_> {
    fn install(&self, root: &Path) -> Result<()> {
        let mut tree = Tree::new(root.to_owned());
        for program in self.programs {
            let to = format!("bin/{program}");
            tree.copy(&self.commands.join(program), &to, PROGRAM, |file| self.strip("--strip-all", file))?;
        }
        if !self.programs.is_empty() {
            self.install_completions(&mut tree)?;
            for name in WRAPPER_NAMES {
                tree.link("oshcc", &format!("bin/{name}"))?;
            }
        }
        if let Some(target) = self.target {
            let wrapper = wrapper(target);
            tree.copy(&self.own.join("oshcc"), &format!("bin/{wrapper}"), PROGRAM, |_| Ok(()))?;
            for name in WRAPPER_NAMES {
                tree.link(&wrapper, &format!("bin/{}-{name}", target.gnu))?;
            }
        }
        self.install_libraries(&mut tree, root)?;

        let headers = workspace::root().join("include");
        // Beside the headers, the main that `oshcc --kernels` links.
        let main = below(&headers, ".c")?;
        for header in below(&headers, ".h")?.into_iter().chain(main) {
            tree.copy(&headers.join(&header), &format!("include/{header}"), DATA, |_| Ok(()))?;
        }
        self.install_fortran(&mut tree)?;
        package::install(&mut tree, self.pages)?;
        eprintln!("+ installed {} files in {}", tree.installed().len(), shown(root).display());
        Ok(())
    }

    fn install_completions(&self, tree: &mut Tree) -> Result<()> {
        for (shell, to) in COMPLETIONS {
            tree.write(to, &printed(Command::new(self.own.join("oshrun")).args(["--generate", shell]))?)?;
        }
        Ok(())
    }

    fn install_libraries(&self, tree: &mut Tree, root: &Path) -> Result<()> {
        let archive = self.library.join("libshmem.a");
        tree.make(&format!("lib/{}", link::SONAME), PROGRAM, |file| {
            link::shared_library(&link::library(self.optimised), self.target, &archive, file)?;
            self.strip("--strip-unneeded", file)
        })?;
        if let Some(folder) = self.checks {
            let checks = folder.join(CHECKS_ARCHIVE);
            tree.make(&format!("lib/{}", link::CHECKS.soname), PROGRAM, |file| {
                link::shared_library(&link::CHECKS, self.target, &checks, file)?;
                self.strip("--strip-unneeded", file)
            })?;
            tree.make(&format!("lib/{}", link::ACCESSES), PROGRAM, |file| {
                link::accesses(self.target, file)?;
                self.strip("--strip-unneeded", file)
            })?;
        }
        for source in self.compat.map(|folder| below(folder, ".c")).transpose()?.unwrap_or_default() {
            let from = self.compat.unwrap_or(root).join(&source);
            tree.make(&format!("lib/ferroshmem/compat/{}", source.trim_end_matches(".c")), PROGRAM, |file| {
                link::compat(self.target, &from, &root.join("lib"), file)?;
                self.strip("--strip-unneeded", file)
            })?;
        }
        tree.link(link::SONAME, "lib/libshmem.so")?;
        tree.copy(&archive, "lib/libshmem.a", DATA, |file| self.strip("--strip-debug", file))?;
        // The name of the library in SGI's and Cray's implementations, which makefiles have as -lsma.
        tree.link(link::SONAME, "lib/libsma.so")?;
        tree.link("libshmem.a", "lib/libsma.a")
    }

    /// The library of Fortran's routines is linked statically, as C's operations are expanded in programs.
    fn install_fortran(&self, tree: &mut Tree) -> Result<()> {
        let Some(folder) = self.fortran else {
            return Ok(());
        };
        for source in ["shmem.fh", "shmem.f90"] {
            tree.copy(&folder.join(source), &format!("include/{source}"), DATA, |_| Ok(()))?;
        }
        tree.link("../shmem.fh", "include/mpp/shmem.fh")?;
        tree.make("lib/libshmem-fortran.a", DATA, |file| {
            let sources = ["shmem-fortran.c", "shmem-module.c"].map(|source| folder.join(source));
            link::fortran(self.target, &sources, file)
        })
    }

    fn strip(&self, option: &str, file: &Path) -> Result<()> {
        match &self.strip {
            Some(strip) => printed(Command::new(strip).arg(option).arg(file)).map(drop),
            None => Ok(()),
        }
    }
}

/// The name of the wrapper that compiles for a target: as that of its compiler.
fn wrapper(target: &Target) -> String {
    format!("{}-oshcc", target.gnu)
}

/// Builds packages; returns the folder that cargo puts the results in.
fn build(packages: &[&str], target: Option<&Target>, profile: &str) -> Result<PathBuf> {
    let mut build = target::cargo(target, "build")?;
    build.args(["--profile", profile]);
    let debug = profile == "dev";
    // With it, syn has the features that it has where tests are built: it and what is over it are built once.
    let macros = debug.then_some("ferroshmem-macros");
    for package in packages.iter().copied().chain(macros) {
        build.args(["--package", package]);
    }
    run(&mut build)?;
    let folder = if debug { "debug" } else { profile };
    Ok(workspace::target()?.join(target::folder(target)).join(folder))
}

//! Linking the shared library from the static one.
//!
//! Rustc could make it (crate type `cdylib`), but gives the linker its own list of exported names. That leaves out the
//! weak `shmem_*`, which only the assembler knows, and GNU ld and gold refuse a second list beside it. Linked by the C
//! compiler, it takes one list, with any linker.

use crate::run::{printed, run, shown};
use crate::target::{self, Target, words};
use crate::workspace;
use anyhow::{Context, Result, ensure};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name by which programs load the library; `docs/releasing.md` says when its number rises.
pub(crate) const SONAME: &str = "libshmem.so.1";

/// The unwinder of gcc, which Rust's library needs.
const UNWINDER: &str = "libgcc_eh.a";

/// Options of the task.
#[derive(Args)]
pub(crate) struct Options {
    /// The static library
    #[arg(long, value_name = "FILE")]
    archive: PathBuf,

    /// The shared library to write
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Links the library as `cargo xtask install` does.
///
/// # Errors
/// If the compiler or its linker fails.
pub(crate) fn main(options: &Options) -> Result<()> {
    shared_library(&library(true), None, &options.archive, &options.output)
}

/// A shared library that is linked.
pub(crate) struct Linked {
    /// The name by which it is loaded.
    pub(crate) soname: &'static str,
    /// What it exports, below the root of the workspace.
    exports: &'static str,
    /// The code that it has side by side, if that matters.
    order: Option<&'static str>,
}

/// That of programs. GNU ld compares each section with each pattern of the order. A library that is not optimised has
/// so many sections that this takes ten times as long as the rest, and its start is slow anyway.
pub(crate) const fn library(optimised: bool) -> Linked {
    let order = if optimised { Some("libshmem/start.ld") } else { None };
    Linked { soname: SONAME, exports: "libshmem/exports.map", order }
}

/// That which `oshrun --check` preloads.
pub(crate) const CHECKS: Linked =
    Linked { soname: "libshmem-check.so", exports: "libshmem-check/exports.map", order: None };

/// Links `output` from the whole of `archive`, by the target's C compiler, with the flags of `LDFLAGS`, such as
/// `-fuse-ld=mold`.
///
/// # Errors
/// If the compiler or its linker fails.
pub(crate) fn shared_library(linked: &Linked, target: Option<&Target>, archive: &Path, output: &Path) -> Result<()> {
    ensure!(archive.is_file(), "no static library {}: build it by `cargo xtask install`", shown(archive).display());
    let compiler = target::compiler(target)?;
    let unwinder = unwinder_is_static(&compiler);
    let mut link = command(&compiler);
    link.arg("-shared").arg("-o").arg(output);
    let exports = workspace::root().join(linked.exports);
    // One word each, since -Wl splits a path at its commas.
    link.args(["-Xlinker", "--version-script", "-Xlinker"]);
    link.arg(exports).arg(format!("-Wl,-soname,{}", linked.soname));
    link.arg("-Wl,--whole-archive").arg(archive);
    link.args([
        "-Wl,--no-whole-archive", "-Wl,--gc-sections", "-Wl,-O1", "-Wl,-z,relro,-z,now",
        // References to its own functions need no look-up when it is loaded.
        "-Wl,-Bsymbolic-functions", "-Wl,-z,noexecstack",
        // Programs share the pages of its code, and it names all libraries that it needs.
        "-Wl,-z,text,-z,defs", "-Wl,--as-needed",
    ]);
    if let Some(order) = linked.order {
        link.args(quick_start(&compiler, &workspace::root().join(order), output)?);
    }
    link.args(["-ldl", "-lrt", "-lpthread", "-lm"]);
    if unwinder {
        link.arg("-static-libgcc");
    }
    link.args(words("LDFLAGS", "")?);
    run(&mut link).with_context(|| {
        format!(
            "cannot link {}: set CC to another compiler, or LDFLAGS=-fuse-ld=NAME for another linker",
            shown(output).display()
        )
    })
}

/// Options for a library that processes start with quickly, as far as the linker takes them. Writes to `output`.
fn quick_start(compiler: &[OsString], order: &Path, output: &Path) -> Result<Vec<OsString>> {
    /// Addresses within the library as bits instead of 24 bytes each, which are 60 KB less.
    const PACKED: &str = "-Wl,-z,pack-relative-relocs";

    let mut options = ["-Xlinker", "-T", "-Xlinker"].map(OsString::from).to_vec();
    options.push(order.into());
    // A script that adds to their own is taken by GNU ld and lld, not by gold and mold. Mold packs, and does not note
    // in the library that it needs a C library that unpacks.
    if !takes(compiler, &options, output)? {
        return Ok(Vec::new());
    }
    let packed = PACKED.into();
    if c_library_unpacks(compiler) && takes(compiler, std::slice::from_ref(&packed), output)? {
        options.push(packed);
    }
    Ok(options)
}

/// Whether the linker takes options. Writes to `output`.
fn takes(compiler: &[OsString], options: &[OsString], output: &Path) -> Result<bool> {
    let mut link = command(compiler);
    link.args(["-shared", "-nostdlib", "-Wl,--fatal-warnings", "-o"]).arg(output).args(words("LDFLAGS", "")?);
    link.args(options).args(["-x", "c", "/dev/null"]);
    Ok(link.output().is_ok_and(|output| output.status.success()))
}

/// Whether the target's C library is glibc 2.36 or later. An older one says that it cannot load the library, which on a
/// machine with an older one is made without.
fn c_library_unpacks(compiler: &[OsString]) -> bool {
    const MINOR: &str = "#define __GLIBC_MINOR__ ";

    let mut macros = command(compiler);
    macros.args(["-include", "features.h", "-E", "-dM", "-x", "c", "/dev/null"]);
    let macros = printed(&mut macros).unwrap_or_default();
    let minor = macros.lines().find_map(|line| line.strip_prefix(MINOR)?.parse::<u32>().ok());
    minor.is_some_and(|minor| minor >= 36)
}

/// The library for code that calls a function for each load and store.
pub(crate) const ACCESSES: &str = "libshmem-accesses.so";

/// Compiles it to `output`, by the same compiler.
///
/// # Errors
/// If the compiler fails.
pub(crate) fn accesses(target: Option<&Target>, output: &Path) -> Result<()> {
    let mut compile = command(&target::compiler(target)?);
    compile.args(["-O2", "-fPIC", "-shared", "-fvisibility=default", "-o"]);
    compile.arg(output).arg(format!("-Wl,-soname,{ACCESSES}"));
    compile.arg(workspace::root().join("libshmem-check/c/accesses.c"));
    compile.args(words("LDFLAGS", "")?);
    run(&mut compile).with_context(|| format!("cannot make {}", shown(output).display()))
}

/// Compiles a library for programs of another OpenSHMEM to `output`, over ours in the folder `libraries`. The source
/// has the name of the library.
///
/// # Errors
/// If the compiler fails.
pub(crate) fn compat(target: Option<&Target>, source: &Path, libraries: &Path, output: &Path) -> Result<()> {
    let soname = source.file_stem().unwrap_or_default().to_string_lossy();
    let mut compile = command(&target::compiler(target)?);
    compile.args(["-O2", "-fPIC", "-shared", "-o"]).arg(output).arg(source).arg(libraries.join(SONAME));
    compile.arg(format!("-Wl,-soname,{soname}")).args(["-ldl", "-Wl,-z,relro,-z,now", "-Wl,-rpath,$ORIGIN/../../.."]);
    compile.args(words("LDFLAGS", "")?);
    run(&mut compile).with_context(|| format!("cannot make {}", shown(output).display()))
}

/// Compiles the library of Fortran's routines from `sources` to the archive `output`, by the same compiler. Each is an
/// object of its own, so that programs get what they use.
///
/// # Errors
/// If the compiler or the archiver fails.
pub(crate) fn fortran(target: Option<&Target>, sources: &[PathBuf], output: &Path) -> Result<()> {
    let mut archive = Command::new(target::archiver(target));
    archive.arg("rcsD").arg(output);
    for source in sources {
        let object = source.with_extension("o");
        let mut compile = command(&target::compiler(target)?);
        compile.args(["-O2", "-fPIC", "-c", "-I"]).arg(workspace::root().join("include"));
        run(compile.arg("-o").arg(&object).arg(source)).context("cannot compile the library for Fortran")?;
        archive.arg(object);
    }
    run(&mut archive).with_context(|| format!("cannot make {}", shown(output).display()))
}

/// Whether the unwinder can be linked statically. That saves every PE the loading of one more shared library, which is
/// a good part of its start-up time. Where the archive is missing, the shared library serves.
fn unwinder_is_static(compiler: &[OsString]) -> bool {
    let found = command(compiler).arg(format!("-print-file-name={UNWINDER}")).output();
    // The compiler prints the bare name of a file that it does not find.
    found.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
}

fn command(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the headers note in programs, and what oshrun knows, is this soname.
    #[test]
    fn headers_and_oshrun_know_the_soname() {
        let read = |file: &str| std::fs::read_to_string(workspace::root().join(file)).unwrap();
        let number = SONAME.rsplit('.').next().unwrap();
        let version = env!("CARGO_PKG_VERSION").replace('.', ", ");
        let needs = format!("#define SHMEMI_NEEDS \"{number}, {version}\"");
        assert!(read("include/shmem/constants.h").contains(&needs), "{needs}");
        let own = format!("OWN: &str = \"{SONAME}\"");
        assert!(read("crates/tools/src/launch/linkage.rs").contains(&own));
    }
}

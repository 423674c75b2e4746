//! Packages of all kinds, each as far as this machine can test it. What is not tested is printed as a note.
//!
//! Builds from nothing take minutes. They are ignored, and run by `cargo test -p xtask --test packages -- --ignored`.

mod container;
mod crates;
mod debian;
mod modules;
mod recipes;
mod release;
#[path = "../support/mod.rs"]
mod support;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use support::succeed;

/// The folder of the workspace.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap().to_owned()
}

/// The installation under test: the one that `FERROSHMEM_PREFIX` names, else a fresh one.
fn installation() -> &'static Path {
    static PREFIX: OnceLock<PathBuf> = OnceLock::new();
    PREFIX.get_or_init(|| support::installation("packages-prefix", &["--debug"]))
}

/// This workspace's own commands.
fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).current_dir(root());
    command
}

/// Says how far something is tested, also where the output of passed tests is not shown.
fn note(line: &str) {
    writeln!(io::stderr(), "note: {line}").expect("standard error is open");
}

/// A user's first program, with the commands in the folder `bin`.
fn serves_a_user(bin: &Path, scratch: &Path) {
    let (hello, program) = (root().join("examples/hello.c"), scratch.join("hello"));
    succeed(Command::new(bin.join("oshcc")).arg("-O2").arg(hello).arg("-o").arg(&program));
    let printed = succeed(Command::new(bin.join("oshrun")).args(["-n", "2", "--timeout", "60"]).arg(&program));
    assert_eq!(printed.lines().count(), 2, "{printed}");
}

/// The files and links below a folder, relative to it.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = PathBuf::from(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            let inner = files_below(&entry.path());
            found.extend(inner.into_iter().map(|path| name.join(path)));
        } else {
            found.push(name);
        }
    }
    found
}

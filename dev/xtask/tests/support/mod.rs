//! What the tests of installations and packages share.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What a command prints; it must succeed.
pub(crate) fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap_or_else(|e| panic!("cannot run {command:?}: {e}"));
    let stdout = String::from_utf8_lossy(&stdout).into_owned();
    let stderr = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?} failed: {status}\n{stdout}\n{stderr}");
    stdout
}

/// The installation under test: the one that `FERROSHMEM_PREFIX` names, else a fresh one of this name and with these
/// options.
pub(crate) fn installation(name: &str, options: &[&str]) -> PathBuf {
    env::var_os("FERROSHMEM_PREFIX").map_or_else(
        || {
            let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let mut install = Command::new(env!("CARGO_BIN_EXE_xtask"));
            succeed(install.arg("install").args(options).arg("--prefix").arg(&prefix));
            prefix
        },
        PathBuf::from,
    )
}

/// Whether a tool is installed.
pub(crate) fn installed(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

/// Whether a test lacks a tool, and is left out; says which package has it.
pub(crate) fn lacks(tool: &str, package: &str) -> bool {
    let lacks = !installed(tool);
    if lacks {
        println!("skipped: {tool} is not installed (package {package})");
    }
    lacks
}

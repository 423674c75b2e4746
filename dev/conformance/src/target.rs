//! Another processor, whose programs an emulator runs on this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Result, ensure};

use crate::prefix::{Prefix, workspace};
use crate::tool::{self, Missing};

/// An installation for another processor, and what runs its programs. `oshrun` is this machine's.
#[derive(Debug, Clone)]
pub struct Target {
    /// The folder of headers, library and wrappers.
    pub(crate) root: PathBuf,
    /// What the names of its compiler and wrappers begin with, as `aarch64-linux-gnu`.
    pub(crate) gnu: &'static str,
    /// The emulator with its arguments, before a program's path.
    pub(crate) emulator: Vec<String>,
}

/// The target of rustc, and its name in packages.
const RUST: &str = "aarch64-unknown-linux-gnu";
const GNU: &str = "aarch64-linux-gnu";

impl Target {
    /// That of aarch64, which is made once: an installation without optimisation, in the target folder. The wrapper is
    /// that of `own`.
    fn aarch64(own: &Prefix) -> Result<Self> {
        static MADE: OnceLock<Result<Target, String>> = OnceLock::new();
        needs()?;
        let made = MADE.get_or_init(|| Self::make(own).map_err(|error| format!("{error:#}")));
        made.clone().map_err(anyhow::Error::msg)
    }

    fn make(own: &Prefix) -> Result<Self> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace().join("target"), PathBuf::from);
        let root = target.join("conformance-aarch64");
        let mut install = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        install.args(["xtask", "install", "--debug", "--without-commands", "--target", RUST, "--prefix"]);
        install.arg(&root).arg("--commands").arg(own.root().join("bin"));
        // Where clippy's driver compiles for this machine, it is the plain compiler for the other.
        install.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS", "--cap-lints=allow");
        let output = install.current_dir(workspace()).output()?;
        ensure!(output.status.success(), "{install:?}\n{}", String::from_utf8_lossy(&output.stderr));
        let emulator = [&format!("qemu-{}", processor()), "-L", &system_root()].map(str::to_owned).to_vec();
        Ok(Self { root, gnu: GNU, emulator })
    }
}

/// Asks for the tools.
fn needs() -> Result<(), Missing> {
    tool::command(&format!("{GNU}-gcc"), &format!("gcc-{GNU}"))?;
    tool::command(&format!("qemu-{}", processor()), "qemu-user")?;
    if !Path::new(&system_root()).join("lib/libc.so.6").exists() {
        return Err(Missing::package("its C library", "libc6-dev-arm64-cross"));
    }
    let sysroot = Command::new("rustc").args(["--print", "target-libdir", "--target", RUST]).output();
    let folder = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    if !Path::new(&folder).is_dir() {
        return Err(Missing(format!("Rust's library for {RUST} is not installed (rustup target add {RUST})")));
    }
    Ok(())
}

fn processor() -> &'static str {
    GNU.split_once('-').map_or(GNU, |(processor, _)| processor)
}

/// Where Debian's cross compiler has the libraries of its programs.
fn system_root() -> String {
    format!("/usr/{GNU}")
}

impl Prefix {
    /// The same, with programs for aarch64 that an emulator runs.
    ///
    /// # Errors
    /// If this machine lacks a tool, or the library cannot be built.
    pub fn emulated(self) -> Result<Self> {
        let target = Target::aarch64(&self)?;
        Ok(self.with_target(target))
    }
}

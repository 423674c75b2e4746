//! Another processor, whose programs an emulator runs on this machine.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

use crate::prefix::{Prefix, workspace};
use crate::tool::{self, Missing};

/// A processor of another kind, by the names of its tools.
#[derive(Debug, PartialEq, Eq)]
pub struct Processor {
    /// As the emulator has it.
    pub name: &'static str,
    /// The target of rustc.
    rust: &'static str,
    /// What the names of its compiler and wrappers begin with.
    gnu: &'static str,
    /// Debian's package of its C library.
    library: &'static str,
    made: OnceLock<Result<Target, String>>,
}

/// 64 bits of ARM.
pub static AARCH64: Processor = Processor {
    name: "aarch64",
    rust: "aarch64-unknown-linux-gnu",
    gnu: "aarch64-linux-gnu",
    library: "libc6-dev-arm64-cross",
    made: OnceLock::new(),
};

/// 64 bits of RISC-V.
pub static RISCV64: Processor = Processor {
    name: "riscv64",
    rust: "riscv64gc-unknown-linux-gnu",
    gnu: "riscv64-linux-gnu",
    library: "libc6-dev-riscv64-cross",
    made: OnceLock::new(),
};

/// An installation for another processor, and what runs its programs. `oshrun` is this machine's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The folder of headers, library and wrappers.
    pub(crate) root: PathBuf,
    /// What the names of its compiler and wrappers begin with, as `aarch64-linux-gnu`.
    pub(crate) gnu: &'static str,
    /// The emulator with its arguments, before a program's path.
    pub(crate) emulator: Vec<String>,
}

impl Processor {
    /// That of a name; aarch64 for any other one.
    pub(crate) fn of(name: &OsStr) -> &'static Self {
        if name == RISCV64.name { &RISCV64 } else { &AARCH64 }
    }

    /// Its target, which is made once: an installation without optimisation, in the target folder. The wrapper is that
    /// of `own`.
    fn target(&self, own: &Prefix) -> Result<Target> {
        self.needs()?;
        let made = self.made.get_or_init(|| self.make(own).map_err(|error| format!("{error:#}")));
        made.clone().map_err(anyhow::Error::msg)
    }

    fn make(&self, own: &Prefix) -> Result<Target> {
        let target = env::var_os("CARGO_TARGET_DIR").map_or(workspace().join("target"), PathBuf::from);
        let root = target.join(format!("conformance-{}", self.name));
        let mut install = self.cargo();
        install.args(["xtask", "install", "--debug", "--without-commands", "--target", self.rust, "--prefix"]);
        install.arg(&root).arg("--commands").arg(own.root().join("bin"));
        let output = install.output()?;
        ensure!(output.status.success(), "{install:?}\n{}", String::from_utf8_lossy(&output.stderr));
        let emulator = [self.emulator(), "-L".to_owned(), self.system_root()].to_vec();
        Ok(Target { root, gnu: self.gnu, emulator })
    }

    /// Cargo, which compiles for it.
    fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // Where clippy's driver compiles for this machine, it is the plain compiler for the other.
        cargo.env(self.variable("RUSTFLAGS"), "--cap-lints=allow").current_dir(workspace());
        cargo
    }

    /// The variable by which cargo knows what it uses for the target.
    fn variable(&self, of: &str) -> String {
        format!("CARGO_TARGET_{}_{of}", self.rust.replace('-', "_").to_uppercase())
    }

    /// Compiles a package's unit tests with optimisation, and runs them by emulators that take these names of
    /// processors; the path of the executable.
    ///
    /// # Errors
    /// If this machine lacks a tool, or a test fails.
    pub fn run_unit_tests(&self, package: &str, processors: &[&str]) -> Result<PathBuf> {
        self.needs()?;
        let mut build = self.cargo();
        build.args(["test", "--release", "--lib", "--no-run", "--target", self.rust, "--package", package]);
        build.env(self.variable("LINKER"), format!("{}-gcc", self.gnu));
        let output = build.output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{build:?}\n{said}");
        let path = said.rsplit_once('(').and_then(|(_, path)| Some(path.split_once(')')?.0));
        let executable = workspace().join(path.with_context(|| format!("no executable: {said}"))?);
        for processor in processors {
            let mut run = Command::new(self.emulator());
            run.args(["-L", &self.system_root()]).arg(&executable).env("QEMU_CPU", processor);
            let output = run.output()?;
            ensure!(output.status.success(), "{processor}: {}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(executable)
    }

    /// Asks for the tools.
    fn needs(&self) -> Result<(), Missing> {
        let (gnu, rust) = (self.gnu, self.rust);
        tool::command(&format!("{gnu}-gcc"), &format!("gcc-{gnu}"))?;
        tool::command(&self.emulator(), "qemu-user")?;
        if !Path::new(&self.system_root()).join("lib/libc.so.6").exists() {
            return Err(Missing::package("its C library", self.library));
        }
        let sysroot = Command::new("rustc").args(["--print", "target-libdir", "--target", rust]).output();
        let folder = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        if !Path::new(&folder.unwrap_or_default()).is_dir() {
            return Err(Missing(format!("Rust's library for {rust} is not installed (rustup target add {rust})")));
        }
        Ok(())
    }

    fn emulator(&self) -> String {
        format!("qemu-{}", self.name)
    }

    /// Where Debian's cross compiler has the libraries of its programs.
    fn system_root(&self) -> String {
        format!("/usr/{}", self.gnu)
    }
}

impl Prefix {
    /// The same, with programs for another processor that an emulator runs.
    ///
    /// # Errors
    /// If this machine lacks a tool, or the library cannot be built.
    pub fn emulated(self, processor: &Processor) -> Result<Self> {
        let target = processor.target(&self)?;
        Ok(self.with_target(target))
    }
}

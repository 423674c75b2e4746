//! What is built for: this machine, or another one by a cross compiler.

use crate::workspace;
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsString;
use std::process::Command;
use std::str::FromStr;

/// Another machine than this one.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// As Rust names it, `aarch64-unknown-linux-gnu`.
    rust: String,
    /// As gcc and binutils name it, `aarch64-linux-gnu`.
    pub(crate) gnu: String,
}

impl FromStr for Target {
    type Err = anyhow::Error;

    fn from_str(rust: &str) -> Result<Self> {
        let parts: Vec<_> = rust.split('-').collect();
        let [processor, _, system @ "linux", library] = parts[..] else {
            bail!("{rust}: give a target of rustc with Linux, as aarch64-unknown-linux-gnu");
        };
        let processor = processor.strip_suffix("gc").unwrap_or(processor);
        Ok(Self { rust: rust.to_owned(), gnu: format!("{processor}-{system}-{library}") })
    }
}

impl Target {
    /// The C compiler: that which the variable of the crate cc names, else gcc by the name of cross compilers.
    pub(crate) fn compiler(&self) -> Result<Vec<OsString>> {
        words(&format!("CC_{}", self.underscored()), &format!("{}-gcc", self.gnu))
    }

    fn underscored(&self) -> String {
        self.rust.replace('-', "_")
    }
}

/// The C compiler for a target, or for this machine: that which `CC` names, else `cc`.
pub(crate) fn compiler(target: Option<&Target>) -> Result<Vec<OsString>> {
    target.map_or_else(|| words("CC", "cc"), Target::compiler)
}

/// The command that takes debugging information out of files.
pub(crate) fn strip(target: Option<&Target>) -> String {
    target.map_or("strip".to_owned(), |target| format!("{}-strip", target.gnu))
}

/// The command that makes archives of object files.
pub(crate) fn archiver(target: Option<&Target>) -> String {
    target.map_or("ar".to_owned(), |target| format!("{}-ar", target.gnu))
}

/// A cargo command that builds for a target, or for this machine.
pub(crate) fn cargo(target: Option<&Target>, subcommand: &str) -> Result<Command> {
    let mut command = workspace::cargo(subcommand);
    if let Some(target) = target {
        command.args(["--target", &target.rust]);
        let linker = format!("CARGO_TARGET_{}_LINKER", target.underscored().to_uppercase());
        if env::var_os(&linker).is_none() {
            command.env(linker, &target.compiler()?[0]);
        }
    }
    Ok(command)
}

/// The folder below cargo's that it builds for a target in, or for this machine.
pub(crate) fn folder(target: Option<&Target>) -> &str {
    target.map_or("", |target| &target.rust)
}

/// The words of an environment variable, or of `default` where it has none; as make, it knows no quotes.
pub(crate) fn words(variable: &str, default: &str) -> Result<Vec<OsString>> {
    let value = env::var_os(variable).unwrap_or_default();
    let value = value.to_str().with_context(|| format!("{variable} is not UTF-8: {}", value.display()))?;
    let words: Vec<OsString> = value.split_whitespace().map(OsString::from).collect();
    Ok(match words.is_empty() {
        true => default.split_whitespace().map(OsString::from).collect(),
        false => words,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cross_compilers_have_the_name_of_their_target() {
        let gnu = |rust: &str| Target::from_str(rust).map(|target| target.gnu);
        assert_eq!(gnu("aarch64-unknown-linux-gnu").unwrap(), "aarch64-linux-gnu");
        assert_eq!(gnu("riscv64gc-unknown-linux-gnu").unwrap(), "riscv64-linux-gnu");
        for other in ["aarch64", "aarch64-linux-gnu", "aarch64-apple-darwin"] {
            assert!(gnu(other).is_err(), "{other}");
        }
    }
}

//! What is to be started.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use ferroshmem_core::api::spawn::Program;

/// PEs of a program that are to be started ([`Team::spawn`](crate::Team::spawn)), described as the standard
/// library's [`Command`](std::process::Command) describes a process; one PE, if no number is given.
///
/// ```
/// use ferroshmem::Command;
///
/// let workers = Command::new("worker").arg("--quiet").env("LEVEL", "2").pes(8).heap_size(16 << 20);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it starts nothing by itself: World::spawn does"]
pub struct Command {
    program: Program,
}

impl Command {
    /// One PE of this program, which is found as a shell would find it. It has this PE's directory and environment.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: Program {
                command: program.as_ref().to_owned(),
                n_pes: 1,
                arguments: Vec::new(),
                environment: Vec::new(),
                directory: None,
                heap_size: None,
            },
        }
    }

    /// With one more argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.program.arguments.push(arg.as_ref().to_owned());
        self
    }

    /// With more arguments.
    pub fn args<S: AsRef<OsStr>>(self, args: impl IntoIterator<Item = S>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// With a variable set.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        let mut pair = OsString::from(name.as_ref());
        pair.push("=");
        pair.push(value);
        self.program.environment.push(pair);
        self
    }

    /// In this directory.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.program.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// As so many PEs.
    pub fn pes(mut self, n: usize) -> Self {
        self.program.n_pes = n;
        self
    }

    /// With a symmetric heap of so many bytes on each PE, as `SHMEM_SYMMETRIC_SIZE` sets it.
    pub fn heap_size(mut self, bytes: usize) -> Self {
        self.program.heap_size = Some(bytes);
        self
    }

    pub(super) fn program(&self) -> Program {
        self.program.clone()
    }
}

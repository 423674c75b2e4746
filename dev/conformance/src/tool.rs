//! What trials need of the machine beside Rust, gcc and the installation.

use std::error::Error;
use std::fmt;

use nix::unistd::Uid;

use crate::compile::on_path;

/// What the machine lacks. A trial that ends with this error is ignored, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing(pub String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Missing {}

impl Missing {
    /// A command or library, and the package that has it.
    pub fn package(what: &str, package: &str) -> Self {
        Self(format!("{what} is not installed (package {package})"))
    }
}

/// Asks for a command.
///
/// # Errors
/// If it is not on the `PATH`.
pub fn command(name: &str, package: &str) -> Result<(), Missing> {
    on_path(name).then_some(()).ok_or_else(|| Missing::package(name, package))
}

/// Asks for the rights of root.
///
/// # Errors
/// If this is another user.
pub fn root() -> Result<(), Missing> {
    let is_root = Uid::effective().is_root();
    is_root.then_some(()).ok_or_else(|| Missing("only root can be another user".to_owned()))
}

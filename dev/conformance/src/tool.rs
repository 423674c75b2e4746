//! What trials need of the machine beside Rust, gcc and the installation.

use std::error::Error;
use std::fmt;

use crate::compile::on_path;

/// Something that the machine lacks. A trial that ends with this error is ignored, with the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Missing {
    what: &'static str,
    package: &'static str,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, package } = self;
        write!(f, "{what} is not installed (package {package})")
    }
}

impl Error for Missing {}

/// Asks for a command.
///
/// # Errors
/// If it is not on the `PATH`.
pub fn command(name: &'static str, package: &'static str) -> Result<(), Missing> {
    match on_path(name) {
        true => Ok(()),
        false => Err(Missing { what: name, package }),
    }
}

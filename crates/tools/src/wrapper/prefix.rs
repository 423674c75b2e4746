//! Where the library is installed, found from where the wrapper is.

use std::env;
use std::path::{Path, PathBuf};

use super::error::WrapperError;

/// An installation: `bin/` (this program), `include/` and `lib/` side by side.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    root: PathBuf,
}

impl Prefix {
    /// The prefix whose `bin/` holds the running program. An installation can be moved as
    /// a whole, and links to the program from elsewhere are followed.
    ///
    /// # Errors
    /// If there is no `include/shmem.h` next to that `bin/`.
    pub(super) fn of_this_program() -> Result<Self, WrapperError> {
        let program = env::current_exe().map_err(WrapperError::NoProgramFile)?;
        Self::of_program(&program)
    }

    fn of_program(program: &Path) -> Result<Self, WrapperError> {
        let root = program.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let prefix = Self { root: root.to_owned() };
        let header = prefix.include().join("shmem.h");
        if !header.is_file() {
            return Err(WrapperError::NotInstalled { program: program.to_owned(), header });
        }
        Ok(prefix)
    }

    /// Directory of the headers.
    pub(super) fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// Directory of the libraries.
    pub(super) fn lib(&self) -> PathBuf {
        self.root.join("lib")
    }

    #[cfg(test)]
    pub(super) fn at(root: &str) -> Self {
        Self { root: root.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_missing() {
        let error = Prefix::of_program(Path::new("/nowhere/bin/oshcc")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/include/shmem.h"), "{error}");
        assert!(error.contains("xtask install"), "{error}");
    }
}

//! Why `oshrun` ends before a job does.

use crate::terminal::{self, error_head};

/// What to print and which status to exit with where no job runs.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    /// `--help` or `--version`: text for standard output, styled for a terminal; status 0.
    #[error("{0}")]
    Answer(String),
    /// One line for standard error.
    #[error("{line}")]
    Error {
        /// The line, without `oshrun: `.
        line: String,
        /// Exit status.
        status: u8,
    },
}

/// Prints a line on standard error, under the name of `oshrun`.
pub(super) fn print_line(line: &str) {
    terminal::print_line("oshrun: ", line);
}

impl Failure {
    /// A command line that cannot be carried out: status 2.
    pub(super) fn usage(line: impl Into<String>) -> Self {
        Self::Error { line: line.into(), status: 2 }
    }

    /// The machine refuses: status 1.
    pub(super) fn system(line: impl Into<String>) -> Self {
        Self::Error { line: line.into(), status: 1 }
    }

    /// A program that is not there: status 127, as shells have it.
    pub(super) fn not_found(line: impl Into<String>) -> Self {
        Self::Error { line: line.into(), status: 127 }
    }

    /// A program that is there but cannot be run: status 126, as shells have it.
    pub(super) fn not_runnable(line: impl Into<String>) -> Self {
        Self::Error { line: line.into(), status: 126 }
    }

    /// Prints it, and returns the status to exit with.
    pub(super) fn report(&self) -> u8 {
        match self {
            Self::Answer(text) => match terminal::print(text) {
                Ok(()) => 0,
                Err(e) => Self::system(e.to_string()).report(),
            },
            Self::Error { line, status } => {
                terminal::print_line(&error_head("oshrun"), line);
                *status
            }
        }
    }
}

//! Why `oshrun` ends before a job does.

use ferroshmem_platform::line::one_line;

use crate::terminal::error_head;

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
    print_headed("oshrun: ", line);
}

/// The line in one write, as several launchers may share standard error.
fn print_headed(head: &str, line: &str) {
    let text = format!("{head}{}\n", one_line(line));
    eprint!("{text}");
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
            Self::Answer(text) => {
                anstream::print!("{text}");
                0
            }
            Self::Error { line, status } => {
                print_headed(&error_head("oshrun"), line);
                *status
            }
        }
    }
}

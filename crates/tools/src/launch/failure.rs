//! Why `oshrun` ends before a job does.

use std::fmt;

/// What to say and which status to leave with where no job runs.
#[derive(Debug)]
pub(super) enum Failure {
    /// `--help` or `--version`: text for standard output, status 0.
    Answer(String),
    /// One line for standard error.
    Error {
        /// The line, without `oshrun: `.
        line: String,
        /// Exit status.
        status: u8,
    },
}

impl Failure {
    /// A command line that asks for what cannot be: status 2.
    pub(super) fn usage(line: impl Into<String>) -> Self {
        Self::Error {
            line: line.into(),
            status: 2,
        }
    }

    /// The machine refuses: status 1.
    pub(super) fn system(line: impl Into<String>) -> Self {
        Self::Error {
            line: line.into(),
            status: 1,
        }
    }

    /// A program that is not there: status 127, as shells have it.
    pub(super) fn not_found(line: impl Into<String>) -> Self {
        Self::Error {
            line: line.into(),
            status: 127,
        }
    }

    /// A program that is there but cannot be run: status 126, as shells have it.
    pub(super) fn not_runnable(line: impl Into<String>) -> Self {
        Self::Error {
            line: line.into(),
            status: 126,
        }
    }

    /// Says it, and gives the status to leave with.
    pub(super) fn tell(&self) -> u8 {
        match self {
            Self::Answer(text) => {
                print!("{text}");
                0
            }
            Self::Error { line, status } => {
                eprintln!("oshrun: {line}");
                *status
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(text) | Self::Error { line: text, .. } => f.write_str(text),
        }
    }
}

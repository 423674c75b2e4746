//! Why a wrapper does not start a compiler.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// One line for the user.
#[derive(Debug, thiserror::Error)]
pub(super) enum WrapperError {
    #[error("{variable}: unbalanced quotes in {value:?}")]
    Quotes { variable: &'static str, value: OsString },
    #[error("{variable}: no program in {value:?}")]
    NoProgram { variable: &'static str, value: OsString },
    #[error("no {language} compiler found (tried {candidates}): install one or name it in {variable}")]
    NoCompiler { language: &'static str, candidates: String, variable: &'static str },
    /// A wrapper that starts itself would never end.
    #[error("the compiler {compiler:?} is this wrapper itself: name the real one in {variable}")]
    ItselfAsCompiler { compiler: OsString, variable: &'static str },
    #[error("cannot run the compiler \"{}\": {} ({variable} names it)", .compiler.display(), reason(.error))]
    NotStarted { compiler: PathBuf, error: io::Error, variable: &'static str },
    #[error("cannot find this program's file: {0}")]
    NoProgramFile(io::Error),
    #[error(
        "{} is not an installed copy: no {}: run `cargo xtask install --prefix DIR` and use DIR/bin",
        .program.display(),
        .header.display()
    )]
    NotInstalled { program: PathBuf, header: PathBuf },
    #[error("--showme:{word}: unknown; give one of {words}")]
    UnknownForm { word: String, words: String },
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl WrapperError {
    /// The exit status: for a compiler that cannot be started, that of shells.
    pub(super) fn status(&self) -> u8 {
        match self {
            Self::NotStarted { error, .. } if error.kind() == io::ErrorKind::NotFound => 127,
            Self::NotStarted { .. } => 126,
            _ => 1,
        }
    }
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such program".to_owned(),
        io::ErrorKind::ArgumentListTooLong => {
            "the argument list is too long: put arguments into a file and give @FILE".to_owned()
        }
        _ => error.to_string(),
    }
}

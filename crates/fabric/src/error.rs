use std::fmt;

/// What went wrong, in one line that also says what can be done.
#[derive(Clone, Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(line: impl Into<String>) -> Error {
        Error(line.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

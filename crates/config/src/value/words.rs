//! Text, and commands.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::{Result, ValueType, text};
use crate::environment::Environment;

/// Any text.
#[derive(Debug, Clone, Copy)]
pub struct Text {
    /// What a value looks like.
    pub accepts: &'static str,
    /// Where the variable is unset or empty.
    pub default: Option<&'static str>,
    /// What holds then where there is no default, or more about the default.
    pub unset: &'static str,
}

impl ValueType for Text {
    type Value = Option<String>;

    fn accepts(&self) -> String {
        self.accepts.to_owned()
    }

    fn default(&self) -> String {
        let parts = [self.default.unwrap_or_default(), self.unset];
        let parts: Vec<&str> = parts.into_iter().filter(|p| !p.is_empty()).collect();
        parts.join(", ")
    }

    fn read(&self, _: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<String>> {
        Ok(text(given).or_else(|| self.default.map(str::to_owned)))
    }
}

/// A command: a program and arguments that always come with it (`ccache gcc`), in the words of
/// a shell.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Programs to search where the variable is unset or blank, the best first.
    pub candidates: &'static [&'static str],
}

impl ValueType for Command {
    /// None: the first of the candidates that is installed.
    type Value = Option<OsString>;

    fn accepts(&self) -> String {
        "command, perhaps with arguments, as in \"ccache gcc\"".to_owned()
    }

    fn default(&self) -> String {
        let candidates = self.candidates.join(", ");
        format!("the first of {candidates} that is found")
    }

    fn read(&self, _: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<OsString>> {
        Ok(given.filter(|value| !value.as_bytes().trim_ascii().is_empty()))
    }
}

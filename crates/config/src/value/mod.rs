//! The types of values: how each is read, what it accepts, what holds by default.

mod aggregation;
mod algorithm;
mod flag;
mod number;
mod sockets;
mod tuning_path;
mod words;

use std::ffi::OsString;

use ferroshmem_tuning::Collective;

use super::environment::Environment;

pub use self::sockets::SocketMap;
pub use self::tuning_path::TuningFilePath;
pub use self::words::Command;

pub(super) use self::aggregation::Aggregation;
pub(super) use self::algorithm::AlgorithmChoice;
pub(super) use self::flag::{Flag, OptionalFlag, Switch};
pub(super) use self::number::{Count, Polls, Seconds, Size};
pub(super) use self::sockets::SocketList;
pub(super) use self::tuning_path::TuningPath;
pub(super) use self::words::Text;

/// A value, or why it cannot be read.
pub(crate) type Result<T> = std::result::Result<T, ConfigError>;

/// A value that cannot be read: one line that names variable and value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {}", .problem.of(.value))]
pub struct ConfigError {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// Neither 0 nor 1.
    Flag,
    /// No whole number.
    Number,
    /// No size.
    Size,
    /// Neither a length nor one with a time.
    Aggregate,
    /// No list of sockets.
    Sockets,
    /// No algorithm of this collective.
    Algorithm(Collective),
}

impl Problem {
    /// The problem of a value, in words.
    fn of(self, value: &str) -> String {
        let expected = match self {
            Self::Flag => ": give 0 or 1",
            Self::Number => " as a number",
            Self::Size => " as a size: give bytes, or a number with k, m, g or t (512m, 1.5g)",
            Self::Aggregate => ": give 0, auto, the bytes of the longest put, or bytes,microseconds (256,500)",
            Self::Sockets => {
                " as sockets: give auto, off, or the socket of each PE, as in 0*2,1*2, in 64 bytes at most"
            }
            Self::Algorithm(collective) => {
                let (name, choices) = (collective.name(), choices(collective));
                return format!("\"{value}\" is no algorithm of {name}: give auto, {choices}");
            }
        };
        format!("cannot read \"{value}\"{expected}")
    }
}

/// All choices of a collective, in a list.
fn choices(collective: Collective) -> String {
    let names = collective.choices().iter().map(ToString::to_string);
    names.collect::<Vec<_>>().join(", ")
}

/// A type of values.
pub trait ValueType: Sync {
    /// What a value is read as.
    type Value: PartialEq;

    /// What a value looks like, for the table's users.
    fn accepts(&self) -> String;

    /// What holds where the variable is unset, for the table's users.
    fn default(&self) -> String;

    /// Reads what is `given` for variable `name`, or returns the default, which may depend on
    /// the rest of the `environment`.
    ///
    /// # Errors
    /// What is given is no value of this type.
    fn read(&self, name: &'static str, given: Option<OsString>, environment: &Environment<'_>) -> Result<Self::Value>;
}

/// Text of a value: an empty one is as good as none. What is not UTF-8 is read lossily.
fn text(given: Option<OsString>) -> Option<String> {
    given.map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.trim().is_empty())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::variable::Variable;
    use super::*;

    /// What a variable is read as where it has this value, and no other is set.
    pub(crate) fn read<T: ValueType>(variable: &Variable<T>, value: &str) -> Result<T::Value> {
        let lookup = |name: &str| (name == variable.name).then(|| OsString::from(value));
        variable.read(&Environment::only(&lookup))
    }
}

//! Values that switch something on or off.

use std::ffi::OsString;

use super::{ConfigError, Problem, Result, ValueType, text};
use crate::environment::Environment;

/// Set, to any value, or unset.
#[derive(Debug, Clone, Copy)]
pub struct Switch;

impl ValueType for Switch {
    type Value = bool;

    fn accepts(&self) -> String {
        "any value".to_owned()
    }

    fn default(&self) -> String {
        "unset".to_owned()
    }

    fn read(&self, _: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<bool> {
        Ok(given.is_some())
    }
}

/// 0 or 1.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Where the variable is unset or empty.
    pub default: bool,
}

impl ValueType for Flag {
    type Value = bool;

    fn accepts(&self) -> String {
        "0 or 1".to_owned()
    }

    fn default(&self) -> String {
        u8::from(self.default).to_string()
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<bool> {
        text(given).map_or(Ok(self.default), |value| flag(variable, value))
    }
}

fn flag(variable: &'static str, value: String) -> Result<bool> {
    match value.trim() {
        "0" | "no" | "off" | "false" => Ok(false),
        "1" | "yes" | "on" | "true" => Ok(true),
        _ => Err(ConfigError { variable, value, problem: Problem::Flag }),
    }
}

/// 0 or 1, or neither.
#[derive(Debug, Clone, Copy)]
pub struct OptionalFlag {
    /// What holds where the variable is unset or empty.
    pub unset: &'static str,
}

impl ValueType for OptionalFlag {
    /// None where the variable is unset or empty.
    type Value = Option<bool>;

    fn accepts(&self) -> String {
        Flag { default: false }.accepts()
    }

    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<bool>> {
        text(given).map(|value| flag(variable, value)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use crate::table::HUGE_PAGES;
    use crate::value::tests::read;

    #[test]
    fn optional_flags_know_three_states() {
        for (value, expected) in [("", None), (" ", None), ("0", Some(false)), ("on", Some(true))] {
            assert_eq!(read(&HUGE_PAGES, value), Ok(expected));
        }
        assert!(read(&HUGE_PAGES, "2").is_err());
    }
}

//! Numbers: polls, seconds, bytes, or a number or `auto`.

use std::ffi::OsString;
use std::time::Duration;

use super::{ConfigError, Problem, Result, ValueType, text};
use crate::environment::Environment;

/// Number of polls of a wait.
#[derive(Debug, Clone, Copy)]
pub struct Polls {
    /// Where each PE has a core.
    pub default: u32,
    /// Where PEs outnumber cores.
    pub oversubscribed: u32,
}

impl Polls {
    /// The default.
    pub fn default_for(&self, oversubscribed: bool) -> u32 {
        if oversubscribed { self.oversubscribed } else { self.default }
    }
}

impl ValueType for Polls {
    /// None: the default, which depends on the job.
    type Value = Option<u32>;

    fn accepts(&self) -> String {
        "number of polls".to_owned()
    }

    fn default(&self) -> String {
        let Self { default, oversubscribed } = self;
        format!("{default}, or {oversubscribed} where PEs outnumber cores")
    }

    fn read(&self, name: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<u32>> {
        text(given).map(|text| whole(name, text)).transpose()
    }
}

/// A time in whole seconds.
#[derive(Debug, Clone, Copy)]
pub struct Seconds {
    /// Where the variable is unset.
    pub default: u32,
}

impl ValueType for Seconds {
    /// None for 0: no limit.
    type Value = Option<Duration>;

    fn accepts(&self) -> String {
        "seconds; 0: never".to_owned()
    }

    fn default(&self) -> String {
        self.default.to_string()
    }

    fn read(&self, name: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<Duration>> {
        let seconds = text(given).map_or(Ok(self.default), |text| whole(name, text))?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds.into())))
    }
}

/// Number of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// What holds where the variable is unset.
    pub unset: &'static str,
}

impl ValueType for Size {
    /// None where the variable is unset.
    type Value = Option<u64>;

    fn accepts(&self) -> String {
        "number of bytes, or with k, m, g or t".to_owned()
    }

    fn default(&self) -> String {
        self.unset.to_owned()
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<u64>> {
        let size = |value: String| bytes(&value).ok_or(ConfigError { variable, value, problem: Problem::Size });
        // An empty size is an error: a script that has lost the size of the heap should hear of it.
        given.map(|value| size(value.to_string_lossy().into_owned())).transpose()
    }
}

/// Reads a size as the standard defines `SHMEM_SYMMETRIC_SIZE` (section "Environment
/// Variables"): a non-negative integer or floating-point number, then optionally one of
/// k, m, g, t in either case; what follows the suffix is ignored. Result in bytes, rounded up.
fn bytes(text: &str) -> Option<u64> {
    let t = text.trim();
    let suffix = |c: char| "kmgt".find(c.to_ascii_lowercase());
    let end = t.find(|c| suffix(c).is_some()).unwrap_or(t.len());
    let (number, rest) = t.split_at(end);
    let factor = 1_u64 << (10 * rest.chars().next().and_then(suffix).map_or(0, |at| at + 1));
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value: f64 = number.parse().ok()?;
    let bytes = (value * factor as f64).ceil();
    (bytes >= 0.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// A number, or `auto`.
#[derive(Debug, Clone, Copy)]
pub struct Count {
    /// What it is where the variable is unset; None: `auto`.
    pub unset: Option<u32>,
    /// What `auto` means.
    pub auto: &'static str,
}

impl ValueType for Count {
    /// None for `auto`.
    type Value = Option<u32>;

    fn accepts(&self) -> String {
        format!("number, or auto: {}", self.auto)
    }

    fn default(&self) -> String {
        self.unset.map_or("auto".to_owned(), |number| number.to_string())
    }

    fn read(&self, name: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Option<u32>> {
        match text(given) {
            None => Ok(self.unset),
            Some(text) if text == "auto" => Ok(None),
            Some(text) => whole(name, text).map(Some),
        }
    }
}

fn whole(variable: &'static str, value: String) -> Result<u32> {
    let number = value.trim().parse();
    number.map_err(|_| ConfigError { variable, value, problem: Problem::Number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{FABRIC_TIMEOUT, SPIN, SYMMETRIC_SIZE, WORKERS};
    use crate::value::tests::read;

    #[test]
    fn empty_values_are_none() {
        for value in ["", " "] {
            assert!(read(&SYMMETRIC_SIZE, value).is_err());
            assert_eq!(read(&SPIN, value), Ok(None));
            assert_eq!(read(&WORKERS, value), Ok(None));
            assert_eq!(read(&FABRIC_TIMEOUT, value), Ok(Some(Duration::from_secs(10))));
        }
    }

    #[test]
    fn sizes_of_the_standard() {
        assert_eq!(bytes("20m"), Some(20_971_520));
        assert_eq!(bytes("3.1M"), Some(3_250_586));
        assert_eq!(bytes(".5m"), bytes("0.5m"));
        assert_eq!(bytes("20kk"), Some(20 << 10));
        assert_eq!(bytes("0"), Some(0));
        assert_eq!(bytes("2T"), Some(2 << 40));
        assert_eq!(bytes("1e9"), Some(1_000_000_000));
        assert_eq!(bytes("2.5E-1g"), Some(256 << 20));
        assert_eq!(bytes("+1e+3kb"), Some(1000 << 10));
        for bad in ["", "m", "-1", "ten", "1x", "1.2.3", "99999999999t", "0x10", "nan", "-1e3", "1e", "1e20", "inf"] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
    }
}

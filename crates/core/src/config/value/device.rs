//! A work queue of a copy engine.

use std::ffi::OsString;
use std::path::Path;

use super::{ConfigError, ValueType, text};
use crate::config::environment::Environment;

/// Which work queue of a copy engine is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DsaQueue {
    /// None.
    Off,
    /// Any.
    Auto,
    /// This one.
    Path(&'static Path),
}

/// A work queue of a copy engine.
#[derive(Debug)]
pub struct DeviceQueue;

impl ValueType for DeviceQueue {
    type Value = DsaQueue;

    fn accepts(&self) -> String {
        "off, auto, or the path of a work queue".to_owned()
    }

    fn default(&self) -> String {
        "off".to_owned()
    }

    fn read(
        &self,
        variable: &'static str,
        given: Option<OsString>,
        _: &Environment<'_>,
    ) -> Result<DsaQueue, ConfigError> {
        let value = text(given).unwrap_or_default();
        match value.as_str() {
            "" | "0" | "off" => Ok(DsaQueue::Off),
            "1" | "auto" => Ok(DsaQueue::Auto),
            // It is read once or twice in the life of a process.
            path if path.starts_with('/') => Ok(DsaQueue::Path(Path::new(value.leak()))),
            _ => Err(ConfigError::Device { variable, value }),
        }
    }
}

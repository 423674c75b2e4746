//! What goes to another node together.

use std::ffi::OsString;
use std::time::Duration;

use ferroshmem_fabric::Aggregate;

use super::{ConfigError, Problem, Result, ValueType, text};
use crate::environment::Environment;

/// What goes to another node together.
#[derive(Debug, Clone, Copy)]
pub struct Aggregation;

impl ValueType for Aggregation {
    type Value = Aggregate;

    fn accepts(&self) -> String {
        "0, auto, bytes of the longest put, or bytes,microseconds".to_owned()
    }

    fn default(&self) -> String {
        let Aggregate { bytes, delay } = Aggregate::default();
        format!("auto, which is {bytes},{}", delay.as_micros())
    }

    fn read(&self, variable: &'static str, given: Option<OsString>, _: &Environment<'_>) -> Result<Aggregate> {
        let auto = Aggregate::default();
        let Some(value) = text(given).filter(|value| value.trim() != "auto") else {
            return Ok(auto);
        };
        let (bytes, delay) = match value.split_once(',') {
            Some((bytes, delay)) => (bytes, delay.trim().parse().ok()),
            None => (&*value, Some(auto.delay.as_micros() as u32)),
        };
        match (bytes.trim().parse(), delay) {
            (Ok(bytes), Some(delay @ 1..)) => Ok(Aggregate { bytes, delay: Duration::from_micros(delay.into()) }),
            _ => Err(ConfigError { variable, value, problem: Problem::Aggregate }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::AGGREGATE;
    use crate::value::tests::read;

    #[test]
    fn what_goes_together_is_read() {
        let read = |value: &str| read(&AGGREGATE, value).ok();
        let auto = Aggregate::default();
        let of = |bytes, micros| {
            let delay = Duration::from_micros(micros);
            Some(Aggregate { bytes, delay })
        };
        assert_eq!(read("auto"), Some(auto));
        assert_eq!(read(""), Some(auto));
        assert_eq!(read("0"), of(0, auto.delay.as_micros() as u64));
        assert_eq!(read("64, 100"), of(64, 100));
        for wrong in ["much", "-1", "64,", "64,0", "64,1,2", "64 100"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}

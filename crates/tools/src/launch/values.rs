//! Values of options, as users write them.

use std::time::Duration;

use ferroshmem_core::job::region::MAX_PES;

/// A number of PEs.
pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (1..=MAX_PES).contains(&n) => Ok(n),
        _ => Err(format!("give a number of PEs from 1 to {MAX_PES}")),
    }
}

/// A number of cores.
pub(super) fn cores(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("give a number of cores, 1 or more".to_owned()),
    }
}

/// A time in seconds, fractions allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|s| *s > 0.0)
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| "give a number of seconds greater than 0".to_owned())
}

/// A time, or none: for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct HintTime(pub(super) Option<Duration>);

/// A time in seconds, or none.
pub(super) fn seconds_or_none(text: &str) -> Result<HintTime, String> {
    match text {
        "none" => Ok(HintTime(None)),
        _ => seconds(text)
            .map(|time| HintTime(Some(time)))
            .map_err(|e| format!("{e}, or none")),
    }
}

/// A time in microseconds.
pub(super) fn microseconds(text: &str) -> Result<Duration, String> {
    /// A change of PEs takes some of them.
    const LEAST: u64 = 20;
    match text.parse() {
        Ok(us) if us >= LEAST => Ok(Duration::from_micros(us)),
        _ => Err(format!("give a number of microseconds, {LEAST} or more")),
    }
}

//! Times on the command line.

use std::time::Duration;

/// A number of seconds, fractions allowed.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .filter(|s| *s > 0.0)
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .ok_or_else(|| "give a number of seconds greater than 0".to_owned())
}

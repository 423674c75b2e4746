//! Values of options, as users write them.

use std::collections::BTreeSet;
use std::time::Duration;

use ferroshmem_layout::MAX_PES;
use ferroshmem_platform::number_list;

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
    /// None at all is no limit for the launchers of other hosts.
    const SHORTEST: Duration = Duration::from_nanos(1);
    /// A century: no job lasts as long, and the clock cannot tell every later moment.
    const LONGEST: Duration = Duration::from_secs(100 * 365 * 86_400);

    text.parse::<f64>()
        .ok()
        .filter(|s| *s > 0.0)
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .map(|time| time.clamp(SHORTEST, LONGEST))
        .ok_or_else(|| "give a number of seconds greater than 0".to_owned())
}

/// A time, or none: for ever.
#[derive(Debug, Clone, Copy)]
pub(super) struct HintTime(pub(super) Option<Duration>);

/// A time in seconds, or none.
pub(super) fn seconds_or_none(text: &str) -> Result<HintTime, String> {
    match text {
        "none" => Ok(HintTime(None)),
        _ => seconds(text).map(|time| HintTime(Some(time))).map_err(|e| format!("{e}, or none")),
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

/// From when to when, in nanoseconds from the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Window(pub(super) Option<u64>, pub(super) Option<u64>);

/// `FROM:TO` in seconds; one of them may be left out.
pub(super) fn window(text: &str) -> Result<Window, String> {
    let wrong = || "give FROM:TO in seconds, such as 1.5:2, 1.5: or :2".to_owned();
    let time = |text: &str| {
        if text.is_empty() {
            return Ok(None);
        }
        let seconds = text.parse::<f64>().ok();
        let time = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok());
        let ns = time.and_then(|t| u64::try_from(t.as_nanos()).ok());
        ns.map(Some).ok_or_else(wrong)
    };
    let (from, to) = text.split_once(':').ok_or_else(wrong)?;
    match (time(from)?, time(to)?) {
        (Some(from), Some(to)) if from >= to => Err(wrong()),
        (None, None) => Err(wrong()),
        (from, to) => Ok(Window(from, to)),
    }
}

/// Numbers of PEs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PeList(pub(super) BTreeSet<usize>);

/// A list such as `0-7,12`.
pub(super) fn pe_list(text: &str) -> Result<PeList, String> {
    number_set(text).map(PeList).ok_or_else(|| "give numbers of PEs, such as 0-7,12".to_owned())
}

/// The numbers of a list of PEs or CPUs, of which there are some; None if it is none in each part.
pub(super) fn number_set(text: &str) -> Option<BTreeSet<usize>> {
    let is_run = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let both = first.parse::<u16>().ok().zip(last.parse::<u16>().ok());
        both.is_some_and(|(first, last)| first <= last)
    };
    text.split(',').all(is_run).then(|| number_list::numbers(text).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_beginning_and_an_end() {
        let longest = seconds("1.8e19").unwrap();
        assert!(std::time::Instant::now().checked_add(longest).is_some());
        assert!(seconds("1e-12").unwrap() > Duration::ZERO);
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
    }

    #[test]
    fn windows_and_lists_of_pes_are_read() {
        assert_eq!(window("1.5:2"), Ok(Window(Some(1_500_000_000), Some(2_000_000_000))));
        assert_eq!(window(":0.001"), Ok(Window(None, Some(1_000_000))));
        assert_eq!(window("3:"), Ok(Window(Some(3_000_000_000), None)));
        for wrong in ["", ":", "1", "2:1", "1:1", "-1:2", "x:2", "1:nan", "1:inf", "1:2:3"] {
            assert!(window(wrong).is_err(), "{wrong}");
        }
        assert_eq!(pe_list("0-2,7"), Ok(PeList([0, 1, 2, 7].into())));
        for wrong in ["", "x", "3-1", "1,", "-1", "1-", "70000", "0-99999999999"] {
            assert!(pe_list(wrong).is_err(), "{wrong}");
        }
    }
}

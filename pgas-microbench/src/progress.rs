//! Progress of the runs, and the estimated time of the rest.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

/// A line that changes on a terminal, a line for each run elsewhere.
#[derive(Debug)]
pub struct Progress {
    runs: usize,
    begun: usize,
    estimate: Estimate,
    start: Instant,
}

/// Estimates the remaining time from the time of the runs so far.
#[derive(Debug, Clone, Copy, Default)]
struct Estimate {
    expected: f64,
    done: f64,
    taken: f64,
}

impl Estimate {
    /// Seconds of the remaining runs, if the plan's estimates stay as wrong as they were.
    fn left(&self) -> f64 {
        // One run proves little: estimates of a few seconds count as correct.
        const TRUST: f64 = 5.0;
        let error = (self.taken + TRUST) / (self.done + TRUST);
        (self.expected - self.done).max(0.0) * error
    }
}

impl Progress {
    /// For `runs` runs with an estimated time of `expected` seconds.
    pub fn new(runs: usize, expected: f64) -> Self {
        Self { runs, begun: 0, estimate: Estimate { expected, ..Estimate::default() }, start: Instant::now() }
    }

    /// A run begins.
    pub fn begin(&mut self, name: &str) {
        self.begun += 1;
        let (so_far, left) = (minutes(self.start.elapsed().as_secs_f64()), minutes(self.estimate.left()));
        let line = format!("[{}/{}] {name} ({so_far} so far, {left} left)", self.begun, self.runs);
        clear();
        if stderr().is_terminal() { eprint!("{line}") } else { eprintln!("{line}") }
    }

    /// A run with an estimated time of `expected` seconds has ended.
    pub fn end(&mut self, expected: f64) {
        self.estimate.done += expected;
        self.estimate.taken = self.start.elapsed().as_secs_f64();
    }

    /// Prints a message.
    pub fn print(&self, text: &str) {
        clear();
        eprintln!("{text}");
    }
}

/// Removes the line.
pub fn clear() {
    if stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}

/// A time in hours, minutes and seconds.
pub fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_is_corrected() {
        let mut estimate = Estimate { expected: 1000.0, ..Estimate::default() };
        assert_eq!(estimate.left(), 1000.0);
        (estimate.done, estimate.taken) = (495.0, 995.0);
        assert_eq!(estimate.left(), 1010.0, "all takes twice as long");
        estimate.done = 2000.0;
        assert_eq!(estimate.left(), 0.0);
    }

    #[test]
    fn times_are_rounded_to_seconds_or_minutes() {
        assert_eq!(minutes(59.4), "59 s");
        assert_eq!(minutes(61.0), "1 min 01 s");
        assert_eq!(minutes(7260.0), "2 h 01 min");
    }
}

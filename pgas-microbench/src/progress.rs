//! How far the runs are, and how long the rest will take.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

/// A bar on a terminal, lines elsewhere.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    runs: usize,
    begun: usize,
    clock: Clock,
    start: Instant,
}

/// Guesses how long the rest takes from how long the first part took.
#[derive(Debug, Clone, Copy, Default)]
struct Clock {
    expected: f64,
    done: f64,
    taken: f64,
}

impl Clock {
    /// Seconds that the rest takes if guesses stay as wrong as they were.
    fn left(&self) -> f64 {
        // One run says little: a few seconds' worth of guesses count as right.
        const TRUST: f64 = 5.0;
        let error = (self.taken + TRUST) / (self.done + TRUST);
        (self.expected - self.done).max(0.0) * error
    }
}

impl Progress {
    /// For `runs` runs that are thought to take `expected` seconds.
    pub fn new(runs: usize, expected: f64) -> Self {
        let bar = ProgressBar::new(runs as u64);
        let style = "{wide_bar} {pos}/{len}, {elapsed} so far, {msg}";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is well-formed"));
        Self {
            bar,
            runs,
            begun: 0,
            clock: Clock {
                expected,
                ..Clock::default()
            },
            start: Instant::now(),
        }
    }

    /// A run begins.
    pub fn begin(&mut self, name: &str) {
        self.begun += 1;
        let left = minutes(self.clock.left());
        if self.bar.is_hidden() {
            eprintln!("[{}/{}] {name} ({left} left)", self.begun, self.runs);
        } else {
            self.bar.set_message(format!("{left} left: {name}"));
            self.bar.tick();
        }
    }

    /// A run that was thought to take `expected` seconds has ended.
    pub fn end(&mut self, expected: f64) {
        self.clock.done += expected;
        self.clock.taken = self.start.elapsed().as_secs_f64();
        self.bar.inc(1);
    }

    /// Says something that is to be read.
    pub fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    /// There is no more to come.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}

/// A time as one says it.
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
    fn time_left_learns() {
        let mut clock = Clock {
            expected: 1000.0,
            ..Clock::default()
        };
        assert_eq!(clock.left(), 1000.0);
        (clock.done, clock.taken) = (495.0, 995.0);
        assert_eq!(clock.left(), 1010.0, "all takes twice as long");
        clock.done = 2000.0;
        assert_eq!(clock.left(), 0.0);
    }

    #[test]
    fn times_as_one_says_them() {
        assert_eq!(minutes(59.4), "59 s");
        assert_eq!(minutes(61.0), "1 min 01 s");
        assert_eq!(minutes(7260.0), "2 h 01 min");
    }
}

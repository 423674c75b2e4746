//! What the user sees while steps run.

use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// A step is named once it has run this long.
const LONG: Duration = Duration::from_secs(10);

/// Time between two lines where standard error is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(30);

/// Characters of a live line: longer ones would be wrapped and not be erased.
const WIDTH: usize = 100;

/// Shows which steps run: by a live line on a terminal, else by a line from time to time.
#[derive(Debug)]
pub(super) struct Progress {
    terminal: bool,
    last_line: Instant,
    live: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), last_line: Instant::now(), live: false }
    }

    /// Shows the steps that run, each with the time since it started.
    pub(super) fn show(&mut self, ended: usize, all: usize, running: &[(&str, Duration)]) {
        let line = line(ended, all, running, LONG);
        let due = self.last_line.elapsed() >= BETWEEN_LINES;
        match (self.terminal, line) {
            (true, Some(line)) => {
                let short: String = line.chars().take(WIDTH).collect();
                eprint!("\r\x1b[K{short}");
                let _ = stderr().flush();
                self.live = true;
            }
            (false, Some(line)) if due => {
                eprintln!("{line}");
                self.last_line = Instant::now();
            }
            _ => {}
        }
    }

    /// Removes the live line: other output follows.
    pub(super) fn clear(&mut self) {
        if self.live {
            eprint!("\r\x1b[K");
            self.live = false;
        }
        self.last_line = Instant::now();
    }
}

/// `[ 3/17] lints ... 40 s, installation ... 38 s`; none if no step has run for `long`.
fn line(ended: usize, all: usize, running: &[(&str, Duration)], long: Duration) -> Option<String> {
    if running.iter().all(|(_, time)| *time < long) {
        return None;
    }
    let steps: Vec<_> = running.iter().map(|(name, time)| format!("{name} ... {} s", time.as_secs())).collect();
    Some(format!("{} {}", counter(ended, all), steps.join(", ")))
}

/// `[ 3/17]`.
pub(super) fn counter(ended: usize, all: usize) -> String {
    let width = all.to_string().len();
    format!("[{ended:width$}/{all}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_steps_are_named() {
        let seconds = Duration::from_secs;
        let running = [("lints", seconds(40)), ("installation", seconds(8))];
        assert_eq!(line(3, 17, &running, LONG).unwrap(), "[ 3/17] lints ... 40 s, installation ... 8 s");
        assert_eq!(line(3, 17, &running[1..], LONG), None);
        assert_eq!(line(3, 17, &[], LONG), None);
    }
}

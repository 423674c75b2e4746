//! Whether somebody else is using the machine.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Processes of a job need so long to fall asleep after it has answered, and launchers to see it.
const SETTLING: Duration = Duration::from_millis(20);

/// Looks for other processes while all jobs of this one sleep.
#[derive(Debug)]
pub struct Quiet {
    /// Time that may still be spent on waiting for others to pause.
    patience: Duration,
}

impl Quiet {
    /// Waits for others no longer than `patience` in all.
    pub fn new(patience: Duration) -> Self {
        Self { patience }
    }

    /// Whether nobody else is running, now or after a pause.
    pub fn now(&mut self) -> bool {
        let start = Instant::now();
        loop {
            if alone() {
                return true;
            }
            let waited = start.elapsed();
            if waited > SETTLING.max(self.patience) {
                self.patience = self.patience.saturating_sub(waited);
                return false;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Whether this thread is the only one that the kernel has to run. Where that cannot be known,
/// it is.
fn alone() -> bool {
    fs::read_to_string("/proc/loadavg").map_or(true, |text| running(&text).is_none_or(|n| n <= 1))
}

/// The number of running threads in a line such as "0.20 0.18 0.12 1/80 11206".
fn running(text: &str) -> Option<u32> {
    text.split_whitespace()
        .nth(3)?
        .split_once('/')?
        .0
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_threads() {
        assert_eq!(running("0.20 0.18 0.12 3/80 11206\n"), Some(3));
        assert_eq!(running("0.20"), None);
    }

    #[test]
    fn patience_ends() {
        let start = Instant::now();
        Quiet::new(Duration::ZERO).now();
        assert!(start.elapsed() < Duration::from_secs(5));
    }
}

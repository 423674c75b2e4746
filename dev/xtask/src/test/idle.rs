//! How many cores are idle while steps run: many wait for time limits, slow links and daemons.

use std::fs;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use rustix::param::clock_ticks_per_second;

/// Time over which cores are watched: as long as most trials, so that one that begins or ends is no reason.
const WATCHED: Duration = Duration::from_secs(3);

/// The machine's idle time.
#[derive(Debug)]
pub(super) struct Idle {
    /// Cores that were idle while the same steps ran; 0 until that is known.
    pub(super) cores: f64,
    since: Instant,
    /// Idle time of all cores until then, in ticks.
    ticks: Option<u64>,
}

impl Idle {
    pub(super) fn new() -> Self {
        Self { cores: 0.0, since: Instant::now(), ticks: read() }
    }

    /// Begins anew, as a step has begun.
    pub(super) fn begin(&mut self) {
        *self = Self::new();
    }

    /// Counts the idle cores, if they have been watched for long enough.
    pub(super) fn look(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < WATCHED {
            return;
        }
        let Self { ticks: before, .. } = *self;
        self.begin();
        if let (Some(before), Some(now)) = (before, self.ticks) {
            let seconds = now.saturating_sub(before) as f64 / clock_ticks_per_second() as f64;
            self.cores = seconds / elapsed.as_secs_f64();
        }
    }
}

/// The idle time of all cores, in ticks; none where not all cores are ours, as in a container.
fn read() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let (ticks, cores) = idle(&stat)?;
    (available_parallelism().ok()?.get() == cores).then_some(ticks)
}

/// Idle ticks, those of waiting for disks among them, and the number of cores of `/proc/stat`.
fn idle(stat: &str) -> Option<(u64, usize)> {
    let mut lines = stat.lines();
    let times = lines.next()?.strip_prefix("cpu ")?;
    let ticks = times.split_whitespace().skip(3).take(2).map(|ticks| ticks.parse::<u64>().ok()).sum::<Option<_>>()?;
    Some((ticks, lines.take_while(|line| line.starts_with("cpu")).count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_read() {
        let stat = "cpu  10 2 30 400 5 0 1 0 0 0\ncpu0 5 1 15 200 2 0 1 0 0 0\ncpu1 5 1 15 200 3 0 0 0 0 0\nintr 7\n";
        assert_eq!(idle(stat), Some((405, 2)));
        assert_eq!(idle("intr 7\n"), None);
    }

    #[test]
    fn idle_cores_are_known_after_a_time() {
        let mut idle = Idle { ticks: Some(0), ..Idle::new() };
        idle.look();
        assert_eq!(idle.cores, 0.0);
        idle.since -= WATCHED;
        idle.look();
        assert!(read().is_none() || idle.cores > 0.0);
    }
}

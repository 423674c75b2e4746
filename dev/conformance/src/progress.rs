//! Whether a job makes progress: what its watchdog looks at.

use std::fs;
use std::time::{Duration, Instant};

use ferroshmem_platform::process;
use nix::unistd::Pid;

/// The watchdog looks this often within its limit.
const LOOKS: u32 = 20;

/// A job makes progress if it uses more than this share of a core: PEs that wait wake up now and then.
const SHARE: u32 = 10;

/// A job that computes without end is ended after this many limits.
const AT_MOST: u32 = 10;

/// What a job shows of itself.
#[derive(Debug, Default)]
pub struct Signs {
    /// Its processes that run.
    pub processes: Vec<Pid>,
    /// Bytes that it has printed.
    pub printed: u64,
}

/// Looks at a job's processes and output from time to time. A job that runs slowly on a loaded machine makes
/// progress; one whose processes all sleep and print nothing does not.
#[derive(Debug)]
pub struct Watchdog {
    limit: Duration,
    begin: Instant,
    /// The last moment at which there was progress.
    progress: Instant,
    looked: Instant,
    ticks: u64,
    printed: u64,
}

impl Watchdog {
    /// Begins to watch a job, which is to make progress within `limit`.
    pub fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self { limit, begin: now, progress: now, looked: now, ticks: 0, printed: 0 }
    }

    /// Whether the job has made no progress for the limit, or runs for many times that. `signs` is what it
    /// shows now, asked for now and then.
    pub fn expired(&mut self, signs: impl FnOnce() -> Signs) -> bool {
        let since = self.looked.elapsed();
        if since >= self.limit / LOOKS {
            self.looked = Instant::now();
            if self.moves(since, &signs()) {
                self.progress = self.looked;
            }
        }
        self.progress.elapsed() > self.limit || self.begin.elapsed() > self.limit * AT_MOST
    }

    /// Whether the job computed, wanted to compute, or printed since the last look, a time ago.
    fn moves(&mut self, since: Duration, signs: &Signs) -> bool {
        let mut ticks = 0;
        let mut ready = false;
        for pid in &signs.processes {
            let stat = fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
            ticks += process::ticks(&stat).unwrap_or(0);
            // It runs, waits for a core, or for a disk.
            ready |= matches!(process::state(&stat), Some(b'R' | b'D'));
        }
        // Ticks are hundredths of a second on Linux. Fewer than before are those of fewer processes.
        let used = Duration::from_millis(ticks.abs_diff(self.ticks) * 10);
        let moves = ready || used * SHARE > since || signs.printed != self.printed;
        (self.ticks, self.printed) = (ticks, signs.printed);
        moves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use std::thread::sleep;

    const LIMIT: Duration = Duration::from_secs(2);

    struct Shell(Child);

    impl Drop for Shell {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// When a job of a shell script is ended; none if it is not within four limits.
    fn ended(name: &str, script: &str) -> Option<Duration> {
        let output = format!("watchdog-{name}-{}", std::process::id());
        let output = std::env::temp_dir().join(output);
        let file = fs::File::create(&output).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(file).stdin(Stdio::null());
        let shell = Shell(command.spawn().unwrap());
        let mut watchdog = Watchdog::new(LIMIT);
        let begin = Instant::now();
        let signs = || Signs {
            processes: vec![Pid::from_raw(shell.0.id() as i32)],
            printed: fs::metadata(&output).unwrap().len(),
        };
        let ended = loop {
            if watchdog.expired(signs) {
                break Some(begin.elapsed());
            }
            if begin.elapsed() > LIMIT * 4 {
                break None;
            }
            sleep(LIMIT / LOOKS);
        };
        fs::remove_file(output).unwrap();
        ended
    }

    #[test]
    fn jobs_that_sleep_are_ended() {
        assert!(ended("sleeps", "exec sleep 60").is_some());
    }

    #[test]
    fn jobs_that_compute_or_print_are_not() {
        // For more than a tick between two looks, and no longer: the test takes four limits.
        let computes = "while :; do i=0; while [ $i -lt 30000 ]; do i=$((i + 1)); done; sleep 0.3; done";
        assert_eq!(ended("computes", computes), None);
        assert_eq!(ended("prints", "while :; do echo x; sleep 0.2; done"), None);
    }

    #[test]
    fn jobs_that_compute_for_ever_are_ended() {
        let mut watchdog = Watchdog::new(LIMIT);
        watchdog.begin = Instant::now().checked_sub(LIMIT * (AT_MOST + 1)).expect("the clock runs for longer");
        assert!(watchdog.expired(Signs::default));
    }
}

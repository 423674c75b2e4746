//! The next PE of this node, whose process each PE watches.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use ferroshmem_core::job::Attachment;
use ferroshmem_layout::{PeBlock, PeState};
use ferroshmem_platform::Wait;
use ferroshmem_platform::process;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags};

use super::heartbeat_age::HeartbeatAge;
use super::node_watch;
use super::notice::{Cause, PeFailure};

/// A PE's watch of the next PE of its node.
#[derive(Debug)]
pub(super) struct Successor {
    /// The process, if there is one and the kernel can watch it.
    process: OnceLock<Option<OwnedFd>>,
    /// It has begun to end, which its process does not show yet.
    ends: AtomicBool,
    ticks: Mutex<Ticks>,
}

/// What the progress thread of the watched PE counts.
#[derive(Debug)]
struct Ticks {
    seen: u32,
    age: HeartbeatAge,
}

impl Ticks {
    /// How long the count has been `count`, as far as this process could look.
    fn standing(&mut self, count: u32, now: Instant) -> Duration {
        let standing = self.age.look(now);
        if self.seen == count {
            return standing;
        }
        self.seen = count;
        self.age.end(now);
        Duration::ZERO
    }
}

impl Successor {
    pub(super) fn new() -> Self {
        Self {
            process: OnceLock::new(),
            ends: AtomicBool::new(false),
            ticks: Mutex::new(Ticks { seen: 0, age: HeartbeatAge::since(Instant::now()) }),
        }
    }

    /// Its failure: its process has ended, or has been stopped for longer than `stopped`.
    pub(super) fn check(&self, job: &Attachment, stopped: Duration) -> Option<PeFailure> {
        let (index, block) = of(job)?;
        let ended = |process| has_ended(process, Some(&Timespec::default()));
        let ends = self.ends.load(Ordering::Relaxed);
        let cause = if ends || self.process(block).map(ended) == Some(Ok(true)) {
            Cause::Ended
        } else if self.is_stopped(block, stopped) {
            Cause::Stopped
        } else {
            return None;
        };
        let state = PeState::from_word(block.state.load(Ordering::Acquire));
        let cause = match (state, cause) {
            (PeState::Finalized | PeState::GlobalExit, _) => return None,
            (PeState::Reported, Cause::Ended) => Cause::Reported,
            _ => cause,
        };
        Some(PeFailure { pe: job.placement.local_pes()[index], cause, status: 0 })
    }

    /// Has a thread call `notice` in the moment in which its process begins to end, if there is one: once
    /// launchers notice, they end this process, too. The thread holds this PE's lifeline as well.
    pub(super) fn when_ended(&'static self, job: &'static Attachment, notice: impl FnOnce() + Send + 'static) {
        let Some((_, block)) = of(job) else {
            return;
        };
        let Some(process) = self.process(block) else {
            return;
        };
        if !node_watch::is_first() {
            return;
        }
        let wait = move || {
            node_watch::hold(job);
            self.wait_for_end(block, process);
            notice();
        };
        // Without the thread, `check` notices.
        let _ = ferroshmem_platform::thread::spawn("shmem-watch", 128 << 10, wait);
    }

    fn wait_for_end(&self, block: &PeBlock, process: &OwnedFd) {
        /// Time until the successor holds its lifeline: a PE whose first synchronisation is over soon does.
        const HELD_WITHIN: Duration = Duration::from_secs(10);
        /// Time between two looks whether it does.
        const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };

        let until = Instant::now() + HELD_WITHIN;
        while Instant::now() < until {
            match block.lifeline.wait() {
                Wait::Ended => {
                    self.ends.store(true, Ordering::Relaxed);
                    return;
                }
                Wait::NotHeld if has_ended(process, Some(&LOOK)) != Ok(true) => {}
                Wait::NotHeld | Wait::Failed => break,
            }
        }
        while has_ended(process, None) == Err(Errno::INTR) {}
    }

    fn process(&self, block: &PeBlock) -> Option<&OwnedFd> {
        let process = self.process.get_or_init(|| {
            // Fails on a kernel before Linux 5.3: there the launcher notices.
            process_of(block)
        });
        process.as_ref()
    }

    /// Whether its progress thread has stood still for longer than `limit` because its process is stopped.
    /// One that is only slow has a busy core.
    fn is_stopped(&self, block: &PeBlock, limit: Duration) -> bool {
        let count = block.ticks.load(Ordering::Relaxed);
        let mut ticks = self.ticks.lock().unwrap_or_else(|e| e.into_inner());
        ticks.standing(count, Instant::now()) > limit && pid(block).is_some_and(is_stopped)
    }
}

/// The successor's index on this node, and its block; none if this PE is alone there.
fn of(job: &Attachment) -> Option<(usize, &PeBlock)> {
    let pes = job.placement.local_pes().len();
    let index = (job.index + 1) % pes;
    (pes > 1).then(|| (index, job.control.pe_block(index)))
}

/// The process of a PE, if there is one and the kernel can watch it.
pub(super) fn process_of(block: &PeBlock) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid(block)?, PidfdFlags::empty()).ok()
}

/// Whether a process has ended within a time; None: without end.
pub(super) fn has_ended(process: &OwnedFd, within: Option<&Timespec>) -> Result<bool, Errno> {
    let mut polled = [PollFd::new(process, PollFlags::IN)];
    Ok(rustix::event::poll(&mut polled, within)? > 0)
}

fn pid(block: &PeBlock) -> Option<Pid> {
    Pid::from_raw(block.pid.load(Ordering::Relaxed) as i32)
}

/// Whether the kernel says of a process that it is stopped, by a signal or by a debugger.
fn is_stopped(pid: Pid) -> bool {
    matches!(process::state_of(pid.as_raw_nonzero().get()), Some(b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn time_away_does_not_count() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut ticks = Ticks { seen: 0, age: HeartbeatAge::since(start) };
        let mut standing = |count, ms| ticks.standing(count, at(ms)).as_millis();
        assert_eq!(standing(0, 500), 500);
        assert_eq!(standing(1, 600), 0);
        assert_eq!(standing(1, 1500), 900);
        assert_eq!(standing(1, 9000), 0);
        assert_eq!(standing(1, 9900), 900);
    }

    #[test]
    fn a_stopped_process_is_told_from_a_running_one() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert!(!is_stopped(pid));
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        while !is_stopped(pid) {
            std::thread::yield_now();
        }
        rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
        while is_stopped(pid) {
            std::thread::yield_now();
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

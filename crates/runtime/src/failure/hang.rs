//! Jobs that make no progress, where no `oshrun` watches the PEs of a node because another launcher has started them.
//!
//! The leader of each node looks once a second whether a PE of the node has made progress, as `oshrun` does. It passes
//! on to the next node in a ring for how long neither its own node nor those before have made any. A leader that learns
//! so that no node makes progress starts an `oshrun` for a moment, which says what the PEs of the node do.

use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use ferroshmem_config::HangSettings;
use ferroshmem_core::failure::fatal;
use ferroshmem_core::job::{Attachment, adoption};
use ferroshmem_core::wait::record;
use ferroshmem_layout::WaitKind;
use ferroshmem_platform::number_list;

/// The exit status of a job that is ended.
const ENDED: i32 = 124;
/// Time between looks.
const PERIOD: Duration = Duration::from_secs(1);
/// How long the other nodes have to say what their PEs do before the job ends.
const OTHERS: Duration = Duration::from_secs(4);

/// What the nodes of a part of the ring have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stall {
    /// Number of nodes.
    nodes: u16,
    /// Whether a PE of them waits, and for how long at most, in seconds.
    longest_wait: u16,
    /// Seconds in which none of them has made progress.
    seconds: u32,
}

impl Stall {
    pub(super) fn to_word(self) -> u64 {
        u64::from(self.nodes) << 48 | u64::from(self.longest_wait) << 32 | u64::from(self.seconds)
    }

    pub(super) fn from_word(word: u64) -> Self {
        Self { nodes: (word >> 48) as u16, longest_wait: (word >> 32) as u16, seconds: word as u32 }
    }

    /// Of this part of the ring and one more node, its next one.
    fn with(self, next: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(next.nodes),
            longest_wait: self.longest_wait.max(next.longest_wait),
            seconds: self.seconds.min(next.seconds),
        }
    }
}

/// Watches the progress of a node's PEs, and of the job.
#[derive(Debug)]
pub(crate) struct NodeHangWatch {
    job: &'static Attachment,
    settings: HangSettings,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    looked: Instant,
    /// A digest of the progress of all PEs, and when it changed last.
    seen: u64,
    since: Instant,
    is_hinted: bool,
    is_ended: bool,
}

impl NodeHangWatch {
    /// None if nothing is to be done about jobs that hang, or not by this PE.
    pub(crate) fn new(job: &'static Attachment, settings: HangSettings) -> Option<Self> {
        let is_wanted = settings.hint_after.is_some() || settings.end_after.is_some();
        if !is_wanted || job.launched {
            return None;
        }
        ferroshmem_core::failure::debugger::allow_tracers();
        let now = Instant::now();
        let state = State { looked: now, seen: 0, since: now, is_hinted: false, is_ended: false };
        (job.index == 0).then(|| Self { job, settings, state: Mutex::new(state) })
    }

    /// Looks, if that is due: what to send to the next node of so many. `before`: what the node before has sent.
    pub(super) fn look(&self, now: Instant, before: u64, nodes: usize) -> Option<u64> {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        if now.saturating_duration_since(state.looked) < PERIOD {
            return None;
        }
        state.looked = now;
        let control = &self.job.control;
        let all = (0..control.n_pes()).map(|pe| control.progress(pe));
        let seen = all.fold(1, |sum: u64, word| sum.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(word));
        if seen != state.seen {
            state.seen = seen;
            state.since = now;
            state.is_hinted = false;
        }
        let own = Stall { nodes: 1, longest_wait: self.longest_wait(), seconds: (now - state.since).as_secs() as u32 };
        let nodes = nodes as u16;
        let before = Stall::from_word(before);
        // All of the ring but this node, or more: then what comes twice is in it, too.
        let all = match nodes {
            1 => Some(own),
            _ => (before.nodes >= nodes - 1).then(|| before.with(own)),
        };
        if let Some(all) = all {
            self.act(&mut state, all);
        }
        let sent = match before.nodes {
            0 => own,
            // Its own number has gone round, and begins anew.
            n if n >= nodes => own,
            _ => before.with(own),
        };
        Some(sent.to_word())
    }

    /// Seconds for which a PE of the node has waited.
    fn longest_wait(&self) -> u16 {
        let control = &self.job.control;
        let waits = (0..control.n_pes()).map(|pe| {
            let wait = &control.pe_block(pe).wait;
            if wait.kind.load(Ordering::Acquire) == WaitKind::None as u32 {
                return 0;
            }
            let since = wait.since_ms.load(Ordering::Relaxed);
            record::now_ms().saturating_sub(since) / 1000
        });
        waits.max().unwrap_or(0).min(u16::MAX.into()) as u16
    }

    fn act(&self, state: &mut State, all: Stall) {
        // The longest wait began before the last progress, or with it.
        let silent = Duration::from_secs(all.seconds.min(all.longest_wait.into()).into());
        let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| silent >= limit);
        if is_over(self.settings.end_after) {
            if !std::mem::replace(&mut state.is_ended, true) {
                self.report_pes(silent, true);
            }
        } else if is_over(self.settings.hint_after) && !std::mem::replace(&mut state.is_hinted, true) {
            self.report_pes(silent, false);
        }
    }

    /// In a thread of its own, as heartbeats go on meanwhile.
    fn report_pes(&self, silent: Duration, ends: bool) {
        let job = self.job;
        let seconds = silent.as_secs();
        let work = move || {
            let leads = job.placement.of(job.pe).node == 0;
            let line = match ends {
                true => {
                    format!("ferroshmem: no PE has made progress for {seconds} s (SHMEM_HANG_TIMEOUT); ends the job")
                }
                false => format!(
                    "ferroshmem: no PE has made progress for {seconds} s; the job goes on (SHMEM_HANG_TIMEOUT ends \
                        such jobs, SHMEM_HANG_HINT=0 says nothing)"
                ),
            };
            if leads {
                fatal::print_line(&line);
            }
            if let Err(e) = look(job) {
                fatal::print_line(&format!(
                    "ferroshmem: {}: what the PEs of this node do cannot be said: {e}",
                    job.name_of_pe()
                ));
            }
            if ends {
                // PEs that see others end have nothing to add. If another has reported, that is so already.
                let _ = fatal::claim_report(job);
            }
            if ends && leads {
                thread::sleep(OTHERS);
                job.abort(ENDED, &line);
                // SAFETY: ends this process, whose job is over.
                unsafe { libc::_exit(ENDED) }
            }
        };
        // Without a thread nothing is said.
        let _ = thread::Builder::new().name("shmem-hang".into()).spawn(work);
    }
}

/// Starts the `oshrun` that prints what the PEs of this node do, and waits for it.
fn look(job: &Attachment) -> Result<(), adoption::AdoptionError> {
    let pes = job.placement.local_pes().iter();
    let pes: Vec<usize> = pes.map(|pe| *pe as usize).collect();
    let argument = format!("{}{}:{}", adoption::LOOK, job.file.as_raw_fd(), number_list::list(&pes));
    let mut child = adoption::start_beside(&argument, &job.file)?;
    // Where the program ignores the ends of children, nothing can be waited for.
    let _ = child.wait();
    Ok(())
}

/// Watches a job of one node, which no thread of the fabric does.
pub(crate) fn watch_alone(watch: NodeHangWatch) {
    let work = move || {
        loop {
            thread::sleep(PERIOD);
            watch.look(Instant::now(), 0, 1);
        }
    };
    // Without a thread nothing is said of a hang.
    let _ = thread::Builder::new().name("shmem-hang".into()).spawn(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back_and_rings_add_up() {
        let one = Stall { nodes: 1, longest_wait: 70, seconds: 65 };
        assert_eq!(Stall::from_word(one.to_word()), one);
        let other = Stall { nodes: 2, longest_wait: 3, seconds: 80 };
        let both = other.with(one);
        assert_eq!((both.nodes, both.longest_wait, both.seconds), (3, 70, 65));
    }
}

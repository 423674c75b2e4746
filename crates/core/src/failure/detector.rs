//! Noticing that a PE is gone: the fabric tells neither of lost atomics nor of idle peers.
//!
//! Each PE looks after the process of the next PE of its node. The first PE of each node, its
//! *speaker*, gives the speaker of the next node a sign of life now and then, and misses those of
//! the node before. Whoever finds a PE gone tells the speakers of all nodes, a speaker tells its
//! node's PEs, and every PE that learns of it ends, the first of a node with a line. All of it
//! is done by the fabric's helper thread, whatever the program does.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{ptr, thread};

use ferroshmem_fabric::{Context, Events};

use super::fatal;
use super::notice::{Cause, PeFailure};
use crate::job::region::{Board, PeState, WaitKind};
use crate::job::{Attachment, mailboxes};
use crate::transport::internode::{Internode, Monitor};
use crate::wait::{record, signals};

/// The watch of one PE.
#[derive(Debug)]
pub(crate) struct FailureDetector {
    job: &'static Attachment,
    /// Within which a departure is to be noticed; None: not at all.
    timeout: Option<Duration>,
    /// Null while nobody is missed.
    internode: AtomicPtr<Internode>,
    ending: AtomicBool,
    context: Context,
    pulses: AtomicU64,
    heard: Mutex<Heard>,
    mate: OnceLock<Option<OwnedFd>>,
}

/// The last sign of life of the node before.
#[derive(Debug)]
struct Heard {
    pulse: u64,
    /// What that node's PEs have answered, all together.
    answers: u32,
    at: Instant,
    sent: Instant,
}

impl FailureDetector {
    /// A detector that does nothing until [`begin`](Self::begin). A failure is to be noticed within
    /// `timeout`; None: not at all.
    pub(crate) fn new(job: &'static Attachment, timeout: Option<Duration>) -> Self {
        Self {
            job,
            timeout,
            internode: AtomicPtr::new(ptr::null_mut()),
            ending: AtomicBool::new(false),
            context: Context::default(),
            pulses: AtomicU64::new(0),
            heard: Mutex::new(Heard {
                pulse: 0,
                answers: 0,
                at: Instant::now(),
                sent: Instant::now(),
            }),
            mate: OnceLock::new(),
        }
    }

    /// What the fabric calls, and how often.
    pub(crate) fn monitor(self: &Arc<Self>) -> Monitor {
        Monitor {
            events: self.clone(),
            // From one look at this node's PEs to the next: short, as launchers end the others of a
            // job when they see one end, and do not say what those waited for.
            tick: Duration::from_millis(20),
            peer_timeout: self.silence(),
        }
    }

    /// Time from one heartbeat to the next.
    fn beat(&self) -> Duration {
        let timeout = self.timeout.unwrap_or(Duration::from_secs(10));
        (timeout / 20).clamp(Duration::from_millis(100), Duration::from_secs(1))
    }

    /// How long a node may be silent: what is left of the timeout is for notifying all.
    fn silence(&self) -> Duration {
        self.timeout
            .map_or(Duration::from_secs(3600), |t| t * 6 / 10)
    }

    /// All PEs are connected: from now on they are missed.
    pub(crate) fn begin(&self, internode: &'static Internode) {
        let mut heard = self.heard.lock().unwrap_or_else(|e| e.into_inner());
        heard.at = Instant::now();
        self.internode
            .store(ptr::from_ref(internode).cast_mut(), Ordering::Release);
    }

    /// All PEs have come to the end.
    pub(crate) fn end(&self) {
        self.internode.store(ptr::null_mut(), Ordering::Release);
    }

    fn internode(&self) -> Option<&'static Internode> {
        // SAFETY: null, or a internode that lives until the process ends.
        unsafe { self.internode.load(Ordering::Acquire).as_ref() }
    }

    fn board(&self, internode: &Internode, index: usize) -> &'static Board {
        internode.mailboxes.board(index)
    }

    fn is_speaker(&self) -> bool {
        self.job.index == 0
    }

    /// Speakers of the nodes, by node.
    fn speakers(&self) -> &[u32] {
        self.job.placement.first_of_nodes()
    }

    /// Whether somebody has told of a departure.
    fn told(&self, internode: &Internode) -> Option<PeFailure> {
        let mine = self.board(internode, self.job.index);
        PeFailure::from_word(mine.obituary.load(Ordering::Acquire))
    }

    /// Whether the process of the next PE of this node is gone.
    fn lost_mate(&self) -> Option<PeFailure> {
        let here = self.job.placement.here();
        if here.len() == 1 {
            return None;
        }
        let index = (self.job.index + 1) % here.len();
        let block = self.job.control.pe_block(index);
        let handle = self.mate.get_or_init(|| {
            let pid = block.pid.load(Ordering::Relaxed) as libc::pid_t;
            // SAFETY: plain integers; a new descriptor or -1 (an old kernel: the launcher watches).
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as i32;
            // SAFETY: just opened, and nobody else's.
            (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
        });
        let mut poll = libc::pollfd {
            fd: handle.as_ref()?.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one live entry; returns at once.
        let ended = unsafe { libc::poll(&raw mut poll, 1, 0) } > 0;
        let state = PeState::from_word(block.state.load(Ordering::Acquire));
        (ended && !matches!(state, PeState::Finalized | PeState::GlobalExit)).then_some(PeFailure {
            pe: here[index],
            cause: Cause::Ended,
            status: 0,
        })
    }

    /// Gives a sign of life to the node after, and listens for the node before.
    fn lost_node(&self, internode: &Internode) -> Option<PeFailure> {
        let speakers = self.speakers();
        let mine = speakers.iter().position(|pe| *pe as usize == self.job.pe)?;
        let nodes = speakers.len();
        let mut heard = self.heard.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        let pulse = self
            .board(internode, self.job.index)
            .pulse
            .load(Ordering::Relaxed);
        let before = speakers[(mine + nodes - 1) % nodes];
        if pulse != heard.pulse {
            (heard.pulse, heard.at) = (pulse, now);
        } else if now - heard.at > self.beat() {
            // Signs of life come late from a node that is busy receiving; answers do not.
            let answers = self.answers(internode, before);
            if answers != heard.answers {
                (heard.answers, heard.at) = (answers, now);
            }
        }
        if now - heard.at > self.silence() {
            return Some(PeFailure {
                pe: before,
                cause: Cause::Silent,
                status: 0,
            });
        }
        if now - heard.sent < self.beat() {
            return None;
        }
        heard.sent = now;
        drop(heard);
        let next = speakers[(mine + 1) % nodes] as usize;
        let offset = mailboxes::BOARD + std::mem::offset_of!(Board, pulse);
        self.put_word(
            internode,
            next,
            offset,
            self.pulses.fetch_add(1, Ordering::Relaxed) + 1,
        );
        None
    }

    /// How often the PEs of a node have answered this one.
    fn answers(&self, internode: &Internode, speaker: u32) -> u32 {
        let placement = &self.job.placement;
        let node = placement.of(speaker as usize).node;
        (0..self.job.n_pes())
            .filter(|pe| placement.of(*pe).node == node)
            .map(|pe| internode.fabric().completed(pe))
            .fold(0, u32::wrapping_add)
    }

    fn put_word(&self, internode: &Internode, pe: usize, offset: usize, word: u64) {
        let at = Internode::mailbox(pe, offset);
        let from = (&raw const word).cast();
        // SAFETY: a live word, which may be reused on return; the board is the library's.
        unsafe {
            internode
                .fabric()
                .put(&self.context, at, from, size_of::<u64>());
        };
    }

    /// Has all PEs of the job end with `status`: this one has called `shmem_global_exit`.
    pub(crate) fn end_all(&self, status: u8) {
        let Some(internode) = self.internode() else {
            return;
        };
        let gone = PeFailure {
            pe: self.job.pe as u32,
            cause: Cause::GlobalExit,
            status,
        };
        self.tell_here(internode, gone);
        self.tell_other_nodes(internode, gone);
        internode.fabric().quiet(&self.context);
    }

    fn tell_here(&self, internode: &Internode, gone: PeFailure) {
        for index in 0..self.job.placement.here().len() {
            let word = &self.board(internode, index).obituary;
            // Who has been told of another one stays with that.
            let _ = word.compare_exchange(0, gone.to_word(), Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Ends this process as `shmem_global_exit` on another PE asks for.
    fn follow(&self, internode: &Internode, gone: PeFailure) {
        let block = self.job.control.pe_block(self.job.index);
        let state = PeState::from_word(block.state.load(Ordering::Acquire));
        if state == PeState::GlobalExit || self.ending.swap(true, Ordering::AcqRel) {
            // It is on its way.
            return;
        }
        self.tell_here(internode, gone);
        block
            .state
            .store(PeState::GlobalExit as u32, Ordering::Release);
        if gone.status == 0 {
            self.job.part();
        }
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(gone.status.into()) }
    }

    /// Tells all nodes and this node's PEs, then ends the process.
    fn spread(&self, internode: &Internode, gone: PeFailure) -> ! {
        // A thread that comes second waits for the first to end the process.
        if self.ending.swap(true, Ordering::AcqRel) {
            thread::sleep(Duration::from_secs(5));
            self.leave();
        }
        let heard_of_it = self.told(internode).is_some();
        self.tell_here(internode, gone);
        let line = self.report(gone);
        if !heard_of_it {
            self.tell_other_nodes(internode, gone);
        }
        if let Some(line) = line {
            self.job.abort(fatal::STATUS, &line);
        }
        self.leave()
    }

    fn tell_other_nodes(&self, internode: &Internode, gone: PeFailure) {
        /// What is sent has this long to leave, and lines have to be forwarded: launchers that are
        /// told to end a job do it at once.
        const LEAVE: Duration = Duration::from_millis(500);

        let offset = mailboxes::BOARD + std::mem::offset_of!(Board, obituary);
        let gone_node = self.job.placement.of(gone.pe as usize).node;
        for (node, pe) in self.speakers().iter().enumerate() {
            let is_other = self.job.placement.index_here(*pe as usize).is_none();
            let is_gone = node as u32 == gone_node
                && matches!(gone.cause, Cause::Silent | Cause::Unreachable);
            if is_other && !is_gone && *pe != gone.pe {
                self.put_word(internode, *pe as usize, offset, gone.to_word());
            }
        }
        if gone.cause == Cause::GlobalExit {
            return;
        }
        let until = Instant::now() + LEAVE;
        while Instant::now() < until {
            internode.fabric().progress();
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Prints why the job ends, once on each node, rather by a PE that waits; the line, if it
    /// was this one.
    fn report(&self, gone: PeFailure) -> Option<String> {
        let block = self.job.control.pe_block(self.job.index);
        let waits = block.wait.kind.load(Ordering::Acquire) != WaitKind::None as u32;
        if !waits {
            thread::sleep(Duration::from_millis(200));
        }
        if !fatal::is_first(self.job) {
            return None;
        }
        let doing = if waits {
            let since = block.wait.since_ms.load(Ordering::Relaxed);
            let seconds = record::now_ms().saturating_sub(since) as f64 / 1000.0;
            format!("waited {seconds:.1} s in {}", block.wait.routine())
        } else {
            "did not wait".to_owned()
        };
        let (me, pe, host) = (self.job.pe, gone.pe, self.job.host_of(gone.pe as usize));
        let line = format!(
            "ferroshmem: PE {me}: PE {pe} on {host} {}; this PE {doing}",
            gone.cause
        );
        fatal::say(&line);
        Some(line)
    }

    fn leave(&self) -> ! {
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(fatal::STATUS) }
    }
}

impl Events for FailureDetector {
    fn peer_failed(&self, pe: usize, reason: &str) -> ! {
        let gone = PeFailure {
            pe: pe as u32,
            cause: Cause::Unreachable,
            status: 0,
        };
        fatal::debug(|| format!("an operation to PE {pe} failed: {reason}"));
        let Some(internode) = self.internode() else {
            fatal::fatal(
                "shmem_init",
                format_args!("PE {pe} cannot be reached: {reason}"),
            );
        };
        // Who has ended in order may leave operations without an answer.
        match self.told(internode) {
            Some(told) if told.cause == Cause::GlobalExit => {
                self.follow(internode, told);
                // This process is at its end already.
                loop {
                    thread::sleep(Duration::from_secs(1));
                }
            }
            told => self.spread(internode, told.unwrap_or(gone)),
        }
    }

    fn memory_changed(&self) {
        signals::notify(&self.job.control.pe_block(self.job.index).signals);
    }

    fn tick(&self) {
        let Some(internode) = self.internode() else {
            return;
        };
        let told = self.told(internode);
        if let Some(gone) = told
            && gone.cause == Cause::GlobalExit
        {
            return self.follow(internode, gone);
        }
        if self.timeout.is_none() {
            return;
        }
        let gone = told.or_else(|| self.lost_mate()).or_else(|| {
            self.is_speaker()
                .then(|| self.lost_node(internode))
                .flatten()
        });
        if let Some(gone) = gone {
            self.spread(internode, gone);
        }
    }
}

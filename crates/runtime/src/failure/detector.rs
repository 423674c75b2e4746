//! The failure detector: notices that a PE has failed. The fabric reports neither lost atomics nor idle
//! peers.
//!
//! Each PE watches the process of the next PE of its node, which may end or be stopped. The first PE of each node, its
//! *leader*, sends a heartbeat to the leader of the next node, and misses the heartbeats of the node before. A PE that
//! finds another one failed writes a failure notice to the leaders of all nodes, a leader passes it on to its node's
//! PEs, and every PE that reads one ends, the first of a node with a line unless the failed PE's node has printed one.
//! In a resilient job, the nodes decide by [`NodeQuorum`] instead which of them go on. The fabric's progress thread
//! does all of it, whatever the program does.

use std::mem::offset_of;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, OnceLock};
use std::thread::ThreadId;
use std::time::{Duration, Instant};
use std::{iter, ptr, thread};

use ferroshmem_core::failure::fatal;
use ferroshmem_core::internode::{Internode, Monitor};
use ferroshmem_core::job::{Attachment, mailboxes};
use ferroshmem_core::wait::{record, signals};
use ferroshmem_fabric::{Context, Events};
use ferroshmem_layout::{PeState, StatusArea, WaitKind};
use ferroshmem_message::ARRIVALS;

use super::failed_pes::{self, FailedPes};
use super::hang::NodeHangWatch;
use super::heartbeat_age::HeartbeatAge;
use super::membership::Times;
use super::node_quorum::{self, NodeQuorum};
use super::node_watch;
use super::notice::{Cause, PeFailure};
use super::successor::Successor;

/// The failure detector of one PE.
#[derive(Debug)]
pub struct FailureDetector {
    job: &'static Attachment,
    /// Time within which all PEs are to learn of a failure; None: failures are not looked for.
    timeout: Option<Duration>,
    /// Whether the job makes progress, if this PE looks for that.
    hangs: Option<NodeHangWatch>,
    /// Null before [`begin`](Self::begin) and after [`end`](Self::end).
    internode: AtomicPtr<Internode>,
    shutting_down: AtomicBool,
    /// The thread that has called `shmem_global_exit`; None: none has.
    exiting: OnceLock<ThreadId>,
    /// A PE had ended before it got the notice of this PE's `shmem_global_exit`.
    notice_lost: AtomicBool,
    context: Context,
    heartbeats_sent: AtomicU64,
    previous: Mutex<PreviousNode>,
    successor: Successor,
    failed: FailedPes,
    /// In a resilient job.
    quorum: NodeQuorum,
    /// Whether a thread waits for the successor's end.
    watched: Once,
}

/// What this PE, a leader, knows of the previous node, and when it last sent a heartbeat itself.
#[derive(Debug)]
struct PreviousNode {
    heartbeat: u64,
    /// Operations of this PE that the node's PEs have completed, all together.
    completed: u32,
    age: HeartbeatAge,
    heartbeat_sent_at: Instant,
}

impl FailureDetector {
    /// A detector that does nothing until [`begin`](Self::begin). A failure is to be noticed within
    /// `timeout`; None: not at all. `hangs` looks for jobs that make no progress.
    pub(crate) fn new(job: &'static Attachment, timeout: Option<Duration>, hangs: Option<NodeHangWatch>) -> Self {
        Self {
            job,
            timeout,
            hangs,
            internode: AtomicPtr::new(ptr::null_mut()),
            shutting_down: AtomicBool::new(false),
            exiting: OnceLock::new(),
            notice_lost: AtomicBool::new(false),
            context: Context::default(),
            heartbeats_sent: AtomicU64::new(0),
            previous: Mutex::new(PreviousNode {
                heartbeat: 0,
                completed: 0,
                age: HeartbeatAge::since(Instant::now()),
                heartbeat_sent_at: Instant::now(),
            }),
            successor: Successor::new(),
            failed: FailedPes::default(),
            quorum: NodeQuorum::default(),
            watched: Once::new(),
        }
    }

    /// What the fabric calls, and how often.
    pub(crate) fn monitor(self: &Arc<Self>) -> Monitor {
        Monitor {
            events: self.clone(),
            // Short, as launchers end the other PEs of a job when they see one end, and do not say what
            // those waited for.
            tick: Duration::from_millis(20),
            peer_timeout: self.node_timeout(),
        }
    }

    /// Time from one heartbeat to the next.
    fn heartbeat_interval(&self) -> Duration {
        let timeout = self.timeout.unwrap_or(Duration::from_secs(10));
        (timeout / 20).clamp(Duration::from_millis(100), Duration::from_secs(1))
    }

    /// Time without a sign of life after which a node counts as failed: the rest of the timeout is for
    /// notifying all PEs.
    fn node_timeout(&self) -> Duration {
        self.timeout.map_or(Duration::from_secs(3600), |t| t * 6 / 10)
    }

    /// Time after which a process that is stopped counts as failed: before other nodes miss the heartbeats
    /// of a stopped leader, and before its node's lease runs out, so that the job ends with the right cause.
    fn stopped_timeout(&self) -> Duration {
        let lease = self.times().filter(|_| self.is_resilient()).map(Times::lease);
        lease.unwrap_or(self.node_timeout()) * 8 / 10
    }

    /// Those by which nodes of a resilient job lose each other; None: not at all.
    fn times(&self) -> Option<Times> {
        self.timeout.map(Times::within)
    }

    /// All PEs are connected: failures are looked for from now on.
    pub(crate) fn begin(&'static self, internode: &'static Internode) {
        let mut previous = self.previous.lock().unwrap_or_else(|e| e.into_inner());
        previous.age = HeartbeatAge::since(Instant::now());
        self.internode.store(ptr::from_ref(internode).cast_mut(), Ordering::Release);
        drop(previous);
        if self.timeout.is_some() {
            // Without the thread, a tick notices the end some time later.
            let ended = || match self.is_resilient() {
                true => node_watch::watch_others(self.job, true),
                false => self.check_successor(),
            };
            self.watched.call_once(|| self.successor.when_ended(self.job, ended));
        }
    }

    /// Ends this process if the successor has failed, and nothing else is known to end the job.
    fn check_successor(&self) {
        let Some(internode) = self.internode() else {
            return;
        };
        if self.notice(internode).is_none()
            && let Some(failure) = self.successor.check(self.job, self.stopped_timeout())
        {
            self.fail(internode, failure);
        }
    }

    /// All PEs have come to the end of the job: PEs that exit from now on have not failed.
    pub(crate) fn end(&self) {
        let internode = self.internode.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: as in `internode`.
        if let Some(internode) = unsafe { internode.as_ref() } {
            self.quorum.end(internode);
        }
    }

    fn internode(&self) -> Option<&'static Internode> {
        // SAFETY: null, or stored by `begin` from a reference that lives until the process ends.
        unsafe { self.internode.load(Ordering::Acquire).as_ref() }
    }

    /// The status area of PE `index` of this node.
    fn status_area(internode: &Internode, index: usize) -> &'static StatusArea {
        internode.mailboxes.status(index)
    }

    /// Whether the job goes on without PEs that fail.
    fn is_resilient(&self) -> bool {
        self.job.control.failures().is_resilient()
    }

    /// The leaders of the nodes, in their order: the first PEs that are left.
    fn leaders(&self) -> Vec<u32> {
        let firsts = self.job.placement.first_of_nodes();
        if self.job.control.failures().count() == 0 {
            return firsts.to_vec();
        }
        (0..firsts.len()).filter_map(|node| failed_pes::leader(self.job, node)).map(|pe| pe as u32).collect()
    }

    /// The failure that another PE has notified this one of.
    fn notice(&self, internode: &Internode) -> Option<PeFailure> {
        let own = Self::status_area(internode, self.job.index);
        PeFailure::from_word(own.failure_notice.load(Ordering::Acquire))
    }

    /// Sends a heartbeat to the next node when it is time for one; whether the previous node is silent.
    fn check_previous_node(&self, internode: &Internode) -> Option<PeFailure> {
        let leaders = self.leaders();
        let mine = leaders.iter().position(|pe| *pe as usize == self.job.pe)?;
        let nodes = leaders.len();
        let mut previous = self.previous.lock().unwrap_or_else(|e| e.into_inner());
        let now = Instant::now();
        let heartbeat = Self::status_area(internode, self.job.index).heartbeat.load(Ordering::Relaxed);
        let leader = leaders[(mine + nodes - 1) % nodes];
        let mut silent = previous.age.look(now);
        let mut is_alive = heartbeat != previous.heartbeat;
        previous.heartbeat = heartbeat;
        if !is_alive && silent > self.heartbeat_interval() {
            // Heartbeats come late from a node that is busy receiving; completions do not.
            let completed = self.completed_by_node(internode, leader);
            is_alive = completed != previous.completed;
            previous.completed = completed;
        }
        if is_alive {
            previous.age.end(now);
            silent = Duration::ZERO;
        }
        if silent > self.node_timeout() {
            return Some(PeFailure { pe: leader, cause: Cause::Silent, status: 0 });
        }
        if now - previous.heartbeat_sent_at < self.heartbeat_interval() {
            return None;
        }
        previous.heartbeat_sent_at = now;
        drop(previous);
        let next = leaders[(mine + 1) % nodes] as usize;
        let number = self.heartbeats_sent.fetch_add(1, Ordering::Relaxed) + 1;
        let heartbeat = offset_of!(StatusArea, heartbeat);
        self.put_status(internode, next, heartbeat, number);
        None
    }

    /// The job becomes resilient once all PEs have called this.
    pub fn begin_lease(&self) {
        if let (Some(internode), Some(times)) = (self.internode(), self.times()) {
            node_quorum::begin_lease(self.job, internode, times);
        }
    }

    /// Looks whether the job makes progress, when that is due, and tells the next node.
    fn check_progress(&self, internode: &Internode) {
        let Some(hangs) = &self.hangs else {
            return;
        };
        let own = Self::status_area(internode, self.job.index);
        let before = own.stall.load(Ordering::Relaxed);
        let leaders = self.leaders();
        let mine = leaders.iter().position(|pe| *pe as usize == self.job.pe);
        if let (Some(word), Some(mine)) = (hangs.look(Instant::now(), before, leaders.len()), mine) {
            let next = leaders[(mine + 1) % leaders.len()] as usize;
            // Of a resilient job, this node may be the last.
            if next != self.job.pe {
                self.put_status(internode, next, offset_of!(StatusArea, stall), word);
            }
        }
    }

    /// Operations of this PE that the PEs of a node have completed, by the node's leader.
    fn completed_by_node(&self, internode: &Internode, leader: u32) -> u32 {
        let placement = &self.job.placement;
        let node = placement.of(leader as usize).node;
        let completed = placement.pes_of(node).iter().map(|pe| internode.fabric().completed(*pe as usize));
        completed.fold(0, u32::wrapping_add)
    }

    /// Writes a word, `offset` bytes from the start of the status area of PE `pe`; false if there is no room now.
    fn put_status(&self, internode: &Internode, pe: usize, offset: usize, word: u64) -> bool {
        let at = Internode::mailbox(pe, mailboxes::STATUS + offset);
        let from = (&raw const word).cast();
        let fabric = internode.fabric();
        // SAFETY: `word` is readable, and may be reused on return; the status area is the library's.
        unsafe {
            if self.is_resilient() {
                // One that is gone has no room, which a tick must not wait for.
                return fabric.try_put(&self.context, at, from, size_of::<u64>());
            }
            fabric.put(&self.context, at, from, size_of::<u64>());
        }
        true
    }

    /// Has all PEs of the job end with `status`: this one has called `shmem_global_exit`.
    pub fn end_all(&self, status: u8) {
        let Some(internode) = self.internode() else {
            return;
        };
        let exit = PeFailure { pe: self.job.pe as u32, cause: Cause::GlobalExit, status };
        let _ = self.exiting.set(thread::current().id());
        self.notify_node(internode, exit);
        self.notify_other_nodes(internode, exit);
        // A PE that ends at the same time does not complete the operation.
        let lost = || self.notice_lost.load(Ordering::Acquire);
        internode.fabric().quiet_unless(&self.context, lost);
    }

    /// An operation of this PE failed, which has called `shmem_global_exit`: the other PE ends, too.
    fn failed_in_global_exit(&self) -> ! {
        self.notice_lost.store(true, Ordering::Release);
        if self.exiting.get() == Some(&thread::current().id()) {
            let block = self.job.block();
            let status = block.status.load(Ordering::Relaxed);
            // SAFETY: what is left for shmem_global_exit to do: exit flushes, and runs what the program
            // registered.
            unsafe { libc::exit(status) }
        }
        // The thread that exits ends the process.
        loop {
            thread::sleep(Duration::from_secs(1));
        }
    }

    /// Notifies the PEs of this node.
    fn notify_node(&self, internode: &Internode, failure: PeFailure) {
        for index in 0..self.job.placement.local_pes().len() {
            let notice = &Self::status_area(internode, index).failure_notice;
            // A PE keeps the first notice that it gets.
            let word = failure.to_word();
            let _ = notice.compare_exchange(0, word, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// Ends this process as `shmem_global_exit` on another PE asks for.
    fn exit_globally(&self, internode: &Internode, exit: PeFailure) {
        let block = self.job.block();
        let state = PeState::from_word(block.state.load(Ordering::Acquire));
        if state == PeState::GlobalExit || self.shutting_down.swap(true, Ordering::AcqRel) {
            // Another thread ends the process already.
            return;
        }
        self.notify_node(internode, exit);
        block.state.store(PeState::GlobalExit as u32, Ordering::Release);
        if exit.status == 0 {
            self.job.finalize();
        }
        // SAFETY: ends the process at once.
        unsafe { libc::_exit(exit.status.into()) }
    }

    /// Notifies all nodes and this node's PEs, then ends the process.
    fn fail(&self, internode: &Internode, failure: PeFailure) -> ! {
        // A second thread waits for the first to end the process.
        if self.shutting_down.swap(true, Ordering::AcqRel) {
            thread::sleep(Duration::from_secs(5));
            fatal::exit();
        }
        let was_notified = self.notice(internode).is_some();
        self.notify_node(internode, failure);
        let line = self.report(failure);
        if !was_notified {
            self.notify_other_nodes(internode, failure);
        }
        if let Some(line) = line {
            self.job.abort(fatal::STATUS, &line);
        }
        if failure.cause == Cause::Reported {
            thread::sleep(LAUNCHER);
        }
        fatal::exit()
    }

    /// Notifies the other nodes that this PE has said why the job ends.
    pub(crate) fn notify_of_report(&self) {
        // A job that goes on without this PE has another way to learn of it.
        if let Some(internode) = self.internode().filter(|_| !self.is_resilient()) {
            let reported = PeFailure { pe: self.job.pe as u32, cause: Cause::Reported, status: 0 };
            self.notify_other_nodes(internode, reported);
        }
    }

    /// Notifies the leaders of the other nodes.
    fn notify_other_nodes(&self, internode: &Internode, failure: PeFailure) {
        /// Time for the notices to leave, and for lines to be forwarded: launchers that are asked to
        /// end a job do so at once.
        const FLUSH: Duration = Duration::from_millis(500);

        let notice = offset_of!(StatusArea, failure_notice);
        let failed_node = self.job.placement.of(failure.pe as usize).node;
        for pe in &self.leaders() {
            let is_other = self.job.placement.local_index(*pe as usize).is_none();
            let is_of_failed = self.job.placement.of(*pe as usize).node == failed_node;
            let is_unreachable = is_of_failed && matches!(failure.cause, Cause::Silent | Cause::Unreachable);
            if is_other && !is_unreachable && *pe != failure.pe {
                let until = Instant::now() + FLUSH;
                while !self.put_status(internode, *pe as usize, notice, failure.to_word()) && Instant::now() < until {
                    internode.fabric().progress();
                }
            }
        }
        if failure.cause == Cause::GlobalExit {
            return;
        }
        let until = Instant::now() + FLUSH;
        if failure.cause == Cause::Reported {
            // No line is to follow.
            return internode.fabric().quiet_unless(&self.context, || Instant::now() > until);
        }
        while Instant::now() < until {
            internode.fabric().progress();
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Prints why the job ends and what waits for it, once on each node, unless that is said; the line, if it was this
    /// PE. At once: the launcher may end the job in this moment.
    fn report(&self, failure: PeFailure) -> Option<String> {
        if !fatal::claim_report(self.job) || failure.cause == Cause::Reported {
            return None;
        }
        let pes = self.job.placement.local_pes();
        let wait = |index| &self.job.control.pe_block(index).wait;
        let waits = |index: &usize| {
            wait(*index).kind.load(Ordering::Acquire) != WaitKind::None as u32 && pes[*index] != failure.pe
        };
        let waiter = iter::once(self.job.index).chain(0..pes.len()).find(waits);
        let doing = waiter.map_or("this PE did not wait".to_owned(), |index| {
            let wait = wait(index);
            let since = wait.since_ms.load(Ordering::Relaxed);
            let tenths = record::now_ms().saturating_sub(since) / 100;
            let pe = match index == self.job.index {
                true => "this PE".to_owned(),
                false => format!("PE {}", pes[index]),
            };
            format!("{pe} waited {}.{} s in {}", tenths / 10, tenths % 10, wait.routine())
        });
        let (me, pe, host) = (self.job.pe, failure.pe, self.job.host_of(failure.pe as usize));
        let line = format!("ferroshmem: PE {me}: PE {pe} on {host} {}; {doing}", failure.cause);
        fatal::print_line(&line);
        Some(line)
    }
}

/// How long a failure notice may take to arrive after the connection of a PE that ends is closed.
const NOTICE: Duration = Duration::from_millis(300);

/// Time for the launcher to end this PE, after one that has reported has asked for the job's end. Some launchers add
/// lines of their own for a PE that ends before.
const LAUNCHER: Duration = Duration::from_secs(2);

impl Events for FailureDetector {
    fn peer_failed(&self, pe: usize, reason: &str) {
        fatal::debug(|| format!("an operation to PE {pe} failed: {reason}"));
        let Some(internode) = self.internode() else {
            fatal::fatal("shmem_init", format_args!("PE {pe} cannot be reached: {reason}"));
        };
        let block = self.job.block();
        if PeState::from_word(block.state.load(Ordering::Acquire)) == PeState::GlobalExit {
            self.failed_in_global_exit();
        }
        // A PE that has exited in order may leave operations without completion. One that was ended because
        // of another's failure is not the cause: its notice may be on the way.
        let until = Instant::now() + NOTICE;
        while self.notice(internode).is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        match self.notice(internode) {
            Some(exit) if exit.cause == Cause::GlobalExit => {
                self.exit_globally(internode, exit);
                // Another thread ends the process.
                loop {
                    thread::sleep(Duration::from_secs(1));
                }
            }
            notice => {
                let unreachable = PeFailure { pe: pe as u32, cause: Cause::Unreachable, status: 0 };
                self.fail(internode, notice.unwrap_or(unreachable))
            }
        }
    }

    fn memory_changed(&self) {
        signals::notify(&self.job.block().signals);
    }

    fn record_arrived(&self, pe: usize, record: &[u8]) -> bool {
        let is_record = ARRIVALS.add(pe, record);
        // A thread of the program that makes progress may not be the one that waits for this.
        signals::notify(&self.job.block().signals);
        is_record
    }

    fn tick(&self) {
        let block = self.job.block();
        block.ticks.fetch_add(1, Ordering::Relaxed);
        let Some(internode) = self.internode() else {
            return;
        };
        let is_resilient = self.is_resilient();
        // Before all else, if it was stopped.
        let times = self.times().filter(|_| is_resilient);
        let (tells_of, lost) = times.map_or((0, None), |times| self.quorum.look(self.job, internode, times));
        let notice = self.notice(internode);
        if let Some(exit) = notice
            && exit.cause == Cause::GlobalExit
        {
            return self.exit_globally(internode, exit);
        }
        self.check_progress(internode);
        if is_resilient {
            self.failed.tick(self.job, internode, &self.context, tells_of);
        }
        if self.timeout.is_none() {
            return;
        }
        // The end of a process is not the job's then.
        let ends_job = |failure: &PeFailure| !is_resilient || failure.cause == Cause::Stopped;
        let successor = || self.successor.check(self.job, self.stopped_timeout()).filter(ends_job);
        let previous = || if is_resilient { lost } else { self.check_previous_node(internode) };
        let failure = notice.or_else(successor).or_else(previous);
        if let Some(failure) = failure {
            self.fail(internode, failure);
        }
    }
}

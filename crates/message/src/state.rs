//! What a PE keeps of its messages, behind its lock.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use ferroshmem_core::node::Node;
use ferroshmem_core::offload;
use ferroshmem_core::wait::progress;
use ferroshmem_layout::inbox::cells::Reader;
use ferroshmem_layout::inbox::{Envelope, RendezvousControl};
use ferroshmem_platform::process;

use super::matching::Matching;
use super::remotes::Remotes;
use super::request::{Pattern, Phase, Request, Requests, Status};

/// The data of a message that no receive has matched.
#[derive(Debug)]
pub(super) struct Data {
    /// What has come of them.
    pub(super) here: Box<[u8]>,
    /// Where the sender keeps the rest, or all.
    pub(super) there: Option<RendezvousControl>,
    /// The PE of another node that has sent them.
    pub(super) remote: Option<u32>,
}

/// A record that has found no room.
#[derive(Debug)]
pub(super) struct PendingRecord {
    pub(super) to: usize,
    pub(super) envelope: Envelope,
    pub(super) control: Option<RendezvousControl>,
    /// The send that it begins, or 0.
    pub(super) request: u64,
}

/// A copy that is made without the lock.
#[derive(Debug)]
pub(super) struct Copy {
    pub(super) dest: *mut u8,
    /// Of a source that is not mapped in this process: where the other PE has its
    /// [token](ferroshmem_layout::PeBlock::token).
    pub(super) token: Option<usize>,
    pub(super) source: *const u8,
    pub(super) bytes: usize,
    /// The request that is complete then.
    pub(super) request: u64,
    /// The record that answers the other PE then.
    pub(super) to: usize,
    pub(super) envelope: Envelope,
    pub(super) control: RendezvousControl,
}

impl Copy {
    /// Makes it. False: the system lets this process not read the other one's memory.
    ///
    /// # Safety
    /// `dest` is writable, and `source` readable if it is of this process.
    pub(super) unsafe fn make(&self, node: &Node) -> bool {
        let Copy { dest, source, bytes, token, to, .. } = *self;
        let Some(token) = token else {
            // SAFETY: the caller promises that `source` is readable and `dest` writable for `bytes` bytes.
            unsafe { offload::copy(dest, source, bytes) };
            return true;
        };
        let Some(index) = node.job.placement.local_index(to) else {
            return false;
        };
        let block = node.job.control.pe_block(index);
        let pid = block.pid.load(Ordering::Relaxed).cast_signed();
        let mut found = 0u64;
        let parts = [((&raw mut found).cast(), token, size_of::<u64>()), (dest, source.addr(), bytes)];
        // SAFETY: the caller promises that `dest` is writable.
        let is_read = unsafe { process::read_memory(pid, parts) };
        // In another namespace of processes, the number is another process's.
        is_read && found == block.token.load(Ordering::Relaxed)
    }
}

/// What this PE's inbox has reserved and not finished.
#[derive(Debug)]
pub(super) struct Unfinished {
    /// Where that begins, which is read next.
    pub(super) position: u64,
    /// The tail when it was found.
    pub(super) tail: u64,
    /// So many PEs of the node have since finished what they had begun, or have failed.
    pub(super) finished: usize,
}

/// What the lock guards.
#[derive(Debug)]
pub(super) struct State {
    pub(super) reader: Reader,
    pub(super) requests: Requests,
    pub(super) matching: Matching<Data>,
    /// See [`Inbox::kept`].
    pub(super) kept: u64,
    /// Records that have found no room, in their order.
    pub(super) outgoing: VecDeque<PendingRecord>,
    /// Sends whose data go through the receiver's inbox.
    pub(super) sending: Vec<u64>,
    /// Whether the last send that a receiver of this node has answered was copied once, but for what its record had of
    /// the data, which is copied twice.
    pub(super) is_placed: bool,
    /// Copies to be made.
    pub(super) copies: VecDeque<Copy>,
    /// Whether the memory of another PE could not be read.
    pub(super) is_refused: bool,
    /// What passes between this PE and those of other nodes.
    pub(super) remotes: Remotes,
    /// The record that was found unfinished last.
    pub(super) unfinished: Option<Unfinished>,
    /// Requests under way.
    pub(super) open: u32,
    /// Whether this PE is in `shmem_finalize`, where other PEs may still need room in its inbox.
    pub(super) is_closing: bool,
}

// SAFETY: the buffers of requests may be accessed by any thread, as the callers of `send` and `receive` promise.
unsafe impl Send for State {}

impl State {
    /// Of a PE without messages.
    pub(super) fn new(reader: Reader) -> Self {
        Self {
            reader,
            requests: Requests::default(),
            matching: Matching::default(),
            kept: 0,
            outgoing: VecDeque::new(),
            sending: Vec::new(),
            is_placed: false,
            copies: VecDeque::new(),
            is_refused: false,
            remotes: Remotes::default(),
            unfinished: None,
            open: 0,
            is_closing: false,
        }
    }

    pub(super) fn add(&mut self, request: Request) -> u64 {
        self.open += 1;
        self.publish();
        self.requests.add(request)
    }

    pub(super) fn add_receive(&mut self, pattern: Pattern, peer: i32, buffer: *mut u8, bytes: u64) -> u64 {
        self.add(Request {
            phase: Phase::Posted,
            is_send: false,
            team: pattern.team,
            peer,
            buffer,
            bytes,
            done: 0,
            all: 0,
            allowed: 0,
            reply: 0,
            exposure: None,
            status: Status { tag: pattern.tag, ..Status::default() },
        })
    }

    pub(super) fn close(&mut self) {
        self.open -= 1;
        self.publish();
    }

    /// Says whether waits of other routines have something to attend to.
    pub(super) fn publish(&self) {
        let pending = self.open + self.outgoing.len() as u32 + u32::from(self.is_closing);
        progress::PENDING.store(pending, Ordering::Relaxed);
    }

    /// Keeps so many more bytes.
    pub(super) fn keep(&mut self, node: &Node, bytes: u64) {
        self.kept = self.kept.wrapping_add(bytes);
        let own = node.job.control.inbox(node.job.index);
        own.set_kept(self.kept);
    }
}

//! Messages (extension): sends and receives that are matched by team, source and tag (`docs/messages.md`).
//!
//! All matching is done by the receiver, in the order in which records are in its inbox, which is that in which each
//! sender has written them. Where a record says that the sender keeps the data, the receiver decides by which way they
//! come: it copies them if they are in symmetric memory, else the sender does if they go to symmetric memory, else they
//! go through the receiver's inbox in fragments.
//!
//! Messages longer than a record are copied without the lock, so that the PE's other threads go on. A blocking receive
//! posts nothing while it waits: it is asked last when a record is matched.
//!
//! Between nodes, records travel in the fabric's messages (`remote`); what they say and how they are matched is the
//! same.
//!
//! The crate knows `ferroshmem-core` and the fabric; `ferroshmem-runtime` holds its state.
//!
//! No PE waits for another one while it holds the lock. What finds no room in an inbox is queued in this PE's memory,
//! and what has arrived is moved out of its own inbox, so that PEs which wait for each other's room find some.

mod arrivals;
mod closing;
pub mod credit;
mod delivery;
mod failures;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod local_inbox;
mod lock;
pub mod matching;
mod place;
mod queued;
mod receiving;
mod remote;
mod remotes;
pub mod request;
mod sending;
mod short;
mod state;
pub mod wire;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use ferroshmem_core::node::Node;
use ferroshmem_core::wait::{POLICY, Spins, WaitReason, signals};
use ferroshmem_fabric::Context;
use ferroshmem_layout::inbox::cells::Reader;
use ferroshmem_layout::inbox::{Inbox, Kind};
use ferroshmem_layout::{PeBlock, WaitKind};

use self::failures::FAILED;
use self::local_inbox::room;
use self::lock::{Guard, Lock};
use self::queued::Queued;
use self::request::{Pattern, Phase, Receive, Requests, Status};
use self::state::State;

pub use self::arrivals::ARRIVALS;
pub use self::request::{Dead, SENT, TeamPeer, take};

/// The digest of this crate's sources.
pub const SOURCES: &str = ferroshmem_digest::of_sources!();

/// Most bytes of a message on a node whose data are sent without being asked for. From there on, the data are copied in
/// less time than a receiver's answer takes. Between nodes, all that a record of the fabric has room for goes so.
const EAGER: u64 = 8 << 10;
/// Most bytes that a receiver reads from memory of the sender's own. Of more, the fragments that both copy at the same
/// time arrive sooner.
const READ: u64 = 1 << 20;
/// Most bytes of a fragment: the receiver copies one while the sender writes the next.
const FRAGMENT: u64 = (16 << 10) - 64;
/// Least bytes of one.
const SHORTEST: u64 = (4 << 10) - 64;
/// Fragments of a message for which neither length is a limit.
const FRAGMENTS: u64 = 8;
/// From so many bytes that a receiver keeps on, senders keep theirs.
const KEPT: u64 = 16 << 20;
/// What a message without data counts, which a receiver keeps.
const BESIDE: u64 = 64;
/// Records that are taken from the inbox in a row.
const BATCH: usize = 256;

/// This PE's messages.
pub struct Messages {
    /// This PE's.
    inbox: &'static Inbox,
    block: &'static PeBlock,
    state: Lock<State>,
    /// The position of the inbox that is read next.
    position: AtomicU64,
    /// Counts requests that have become complete, and messages that no receive has matched.
    changes: AtomicU32,
    /// Records that wait for room, and sends with fragments left.
    queued: Queued,
    /// Counts what is under way to other nodes.
    context: Context,
    /// In a resilient job: whether a PE of a team has failed, by the team's id.
    has_failed: OnceLock<fn(usize) -> bool>,
    /// See [`PeBlock::token`].
    token: u64,
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { state, queued, .. } = self;
        let mut debug = f.debug_struct("Messages");
        debug.field("state", state).field("queued", queued);
        debug.finish_non_exhaustive()
    }
}

impl Messages {
    /// No messages; the inbox is as it was left.
    pub fn new(inbox: &'static Inbox, block: &'static PeBlock) -> Self {
        let reader = Reader::new(inbox);
        // A process of the same number in another namespace has begun at another nanosecond.
        let token = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
        block.token.store(token, Ordering::Relaxed);
        Self {
            inbox,
            block,
            position: AtomicU64::new(reader.position()),
            state: Lock::new(State::new(reader)),
            changes: AtomicU32::new(0),
            queued: Queued::default(),
            context: Context::default(),
            has_failed: OnceLock::new(),
            token,
        }
    }

    /// Takes a receive back that no message has matched; false if one has. The handle must be live.
    pub fn cancel(&self, node: &Node, handle: u64) -> Option<bool> {
        if handle == SENT {
            return Some(false);
        }
        let mut state = self.enter(node);
        let phase = state.requests.get(handle)?.phase;
        if phase == Phase::Posted {
            state.matching.withdraw(handle);
            state.close();
            state.requests.remove(handle);
        }
        Some(phase == Phase::Posted)
    }

    /// The first message that a pattern takes, if it is there.
    pub fn probe(&self, node: &Node, pattern: &Pattern) -> Option<Status> {
        remote::poll(node);
        self.give_up(node);
        let state = self.enter(node);
        let at = state.matching.find(pattern)?;
        Some(Status::of(state.matching.envelope(at), u64::MAX))
    }

    /// Makes progress, and looks at the requests.
    pub fn look<R>(&self, node: &Node, then: &mut dyn FnMut(&mut Requests) -> R) -> R {
        remote::poll(node);
        self.give_up(node);
        then(&mut self.enter(node).requests)
    }

    /// Waits until `is_done`, which is asked after each change.
    pub fn wait(&self, node: &Node, reason: &WaitReason<'_>, is_done: &mut dyn FnMut(&mut Requests) -> bool) {
        self.wait_until(node, reason, &mut |state| is_done(&mut state.requests));
    }

    fn wait_until(&self, node: &Node, reason: &WaitReason<'_>, is_done: &mut dyn FnMut(&mut State) -> bool) {
        self.wait_for(node, reason, || is_done(&mut self.enter(node)).then_some(()));
    }

    /// Waits until `look` gives a result, which is asked after each change. What has come may be a part of a message,
    /// so that the next is about to: that is polled for as at the beginning of a wait.
    fn wait_for<R>(&self, node: &Node, reason: &WaitReason<'_>, mut look: impl FnMut() -> Option<R>) -> R {
        let mut seen = self.changes.load(Ordering::Acquire).wrapping_sub(1);
        node.transport.wait(reason, signals::NOTIFIED, || {
            let mut spins = Spins::new(0);
            loop {
                if self.has_arrivals(&mut seen) {
                    let result = look();
                    if result.is_some() {
                        return result;
                    }
                    spins = self.spins(node);
                }
                if !self.queued.is_empty() || !spins.again() {
                    // What has come was taken before.
                    return if self.give_up(node) { look() } else { None };
                }
            }
        })
    }

    /// Polls of a wait before anything else is done: none of messages of other nodes, which need polls of the fabric.
    #[inline(always)]
    fn spins(&self, node: &Node) -> Spins {
        if node.transport.internode().is_none() { POLICY.spins() } else { Spins::new(0) }
    }

    /// Waits for the first message that a pattern takes.
    pub fn await_message(&self, node: &Node, reason: &WaitReason<'_>, pattern: &Pattern) -> Status {
        let mut found = Status::default();
        self.wait_until(node, reason, &mut |state| {
            let at = state.matching.find(pattern);
            if let Some(at) = at {
                found = Status::of(state.matching.envelope(at), u64::MAX);
            } else if self.is_in_vain(pattern.team) {
                found = FAILED;
                return true;
            }
            at.is_some()
        });
        found
    }

    /// What a wait for a request is recorded as. None if it is not live.
    pub fn reason<'a>(&self, routine: &'a str, handle: u64) -> Option<WaitReason<'a>> {
        let mut state = self.lock();
        let request = state.requests.get(handle)?;
        let (team, peer, tag) = (request.team, request.peer, request.status.tag);
        Some(reason(routine, team, peer, request.is_send, tag))
    }

    /// Makes progress if no other thread does: for waits of other routines.
    pub fn make_progress(&self, node: &Node) {
        // SAFETY: as in `lock`.
        if let Some(state) = unsafe { self.state.try_lock(self.block.is_threaded()) } {
            self.progress(node, state, None);
        }
    }

    /// A request is complete, or a message is kept: another thread may sleep until it is.
    #[inline(never)]
    fn announce(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        if self.block.is_threaded() {
            signals::notify(&self.block.signals);
        }
    }

    #[inline]
    fn lock(&self) -> Guard<'_, State> {
        // SAFETY: below SHMEM_THREAD_MULTIPLE, the program promises that one thread at a time calls the library. No
        // other thread of the library enters.
        unsafe { self.state.lock(self.block.is_threaded()) }
    }

    /// Locks, and makes progress.
    fn enter(&self, node: &Node) -> Guard<'_, State> {
        self.progress(node, self.lock(), None)
    }

    /// Does what can be done, until a blocking receive has its message.
    #[inline]
    fn progress<'a>(
        &'a self,
        node: &Node,
        mut state: Guard<'a, State>,
        mut receive: Option<&mut Receive>,
    ) -> Guard<'a, State> {
        if !self.queued.is_empty() {
            self.write_queued(node, &mut state);
        }
        let inbox = self.inbox;
        for _ in 0..BATCH {
            if receive.as_ref().is_some_and(|r| r.has_matched()) {
                break;
            }
            let Some(cell) = state.reader.next(inbox) else {
                break;
            };
            // SAFETY: the reader has found a record there.
            let record = unsafe { inbox.read(cell) };
            // SAFETY: all kinds but one have a control part; the record is not released before.
            unsafe { self.take(node, &mut state, &record, receive.as_deref_mut()) };
            if state.reader.release(inbox) {
                room(node, inbox);
            }
        }
        self.position.store(state.reader.position(), Ordering::Relaxed);
        if ARRIVALS.count() != 0 {
            self.take_arrivals(node, &mut state, receive);
        }
        if state.copies.is_empty() {
            return state;
        }
        self.make_copies(node, state)
    }

    /// Makes the copies, without the lock.
    #[cold]
    fn make_copies<'a>(&'a self, node: &Node, mut state: Guard<'a, State>) -> Guard<'a, State> {
        while let Some(copy) = state.copies.pop_front() {
            drop(state);
            // SAFETY: a part of a message's buffer, and of symmetric memory or of the sender's, as `deliver` and
            // `clear` have found. Both stay until the requests of the two PEs are complete, which are below.
            let is_made = unsafe { copy.make(node) };
            state = self.lock();
            let (mut envelope, control) = (copy.envelope, Some(copy.control));
            if is_made {
                self.complete(&mut state, copy.request);
            } else {
                // The sender sends it.
                state.is_refused = true;
                envelope.kind = Kind::Clear;
                let n = envelope.bytes;
                state.await_rest(node, copy.request, copy.to, (n - copy.bytes as u64, n));
            }
            self.post(node, &mut state, copy.to, envelope, control, 0);
        }
        state
    }
}

/// What a wait for a message is recorded as.
pub fn reason(routine: &str, team: u16, peer: i32, is_send: bool, tag: i32) -> WaitReason<'_> {
    WaitReason {
        team: team.into(),
        members: (peer, is_send.into(), 1),
        sequence: tag as u32,
        ..WaitReason::at(WaitKind::Message, routine, 0)
    }
}

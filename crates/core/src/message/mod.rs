//! Messages (extension): sends and receives that are matched by team, source and tag (`docs/messages.md`).
//!
//! All matching is done by the receiver, in the order in which records are in its inbox, which is that in which each sender has
//! written them. Where a record says that the sender keeps the data, the receiver decides by which way they come:
//! it copies them if they are in symmetric memory, else the sender does if they go to symmetric memory, else they go through
//! the receiver's inbox in fragments.
//!
//! Messages longer than a record are copied without the lock, so that the PE's other threads go on. A blocking receive posts
//! nothing while it waits: it is asked last when a record is matched.
//!
//! Between nodes, records travel in the fabric's messages ([`remote`]); what they say and how they are matched is the same.
//!
//! No PE waits for another one while it holds the lock. What finds no room in an inbox is queued in this PE's memory, and
//! what has arrived is moved out of its own inbox, so that PEs which wait for each other's room find some.

mod arrivals;
pub mod credit;
pub mod inbox;
mod lock;
pub mod matching;
pub mod record;
mod remote;
pub mod request;
mod short;
pub mod wire;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use ferroshmem_fabric::Context;

use self::inbox::Reader;
use self::lock::{Guard, Lock};
use self::matching::Matching;
use self::record::{Control, Envelope, Inbox, Kind, Record, SHORT, copy_eager};
use self::remote::Remotes;
use self::request::{Pattern, Phase, Request, Requests, Status};
use crate::constants::THREAD_MULTIPLE;
use crate::job::region::{PeBlock, WaitKind};
use crate::memory::NOWHERE;
use crate::node::Node;
use crate::offload;
use crate::team::WORLD;
use crate::wait::{POLICY, Spins, WaitReason, attend, signals};

pub(crate) use self::arrivals::ARRIVALS;

/// Most bytes of a message whose data are sent without being asked for. From there on, the data are copied in less time
/// than a receiver's answer takes.
const EAGER: u64 = 8 << 10;
/// Bytes of a fragment: an inbox has room for eight.
const FRAGMENT: u64 = 30 << 10;
/// From so many bytes that a receiver keeps on, senders keep theirs.
const KEPT: u64 = 16 << 20;
/// What a message without data counts, which a receiver keeps.
const BESIDE: u64 = 64;
/// Records that are taken from the inbox in a row.
const BATCH: usize = 256;

/// The handle of a send that is complete at once.
pub const SENT: u64 = 1;

/// Where the data of a message are that no receive has matched.
#[derive(Debug)]
enum Data {
    /// Here; and the PE of another node that has sent them.
    Here(Box<[u8]>, Option<u32>),
    /// The sender keeps them.
    There(Control),
}

/// A record that has found no room.
#[derive(Debug)]
struct Outgoing {
    to: usize,
    envelope: Envelope,
    control: Option<Control>,
    /// The send whose data are in the record, or 0.
    request: u64,
}

/// A copy that is made without the lock.
#[derive(Debug)]
struct Copy {
    dest: *mut u8,
    source: *const u8,
    bytes: usize,
    /// The request that is complete then.
    request: u64,
    /// The record that answers the other PE then.
    to: usize,
    envelope: Envelope,
    control: Control,
}

/// A blocking receive that looks for its message.
#[derive(Debug)]
pub(crate) struct Receive {
    pub pattern: Pattern,
    /// World number of the sender; negative: any.
    pub peer: i32,
    pub buffer: *mut u8,
    pub bytes: u64,
    /// Of its message, which it has received.
    status: Option<Status>,
    /// The request of its message, of which the sender keeps the data.
    handle: u64,
}

/// What the lock guards.
#[derive(Debug)]
struct State {
    reader: Reader,
    requests: Requests,
    matching: Matching<Data>,
    /// See [`Inbox::kept`].
    kept: u64,
    /// Records that have found no room, in their order.
    outgoing: VecDeque<Outgoing>,
    /// Sends whose data go through the receiver's inbox.
    sending: Vec<u64>,
    /// Copies to be made.
    copies: VecDeque<Copy>,
    /// What passes between this PE and those of other nodes.
    remotes: Remotes,
    /// Requests under way.
    open: u32,
    /// Whether this PE is in `shmem_finalize`, where other PEs may still need room in its inbox.
    is_closing: bool,
}

// SAFETY: the buffers of requests may be accessed by any thread, as the callers of `send` and `receive` promise.
unsafe impl Send for State {}

/// This PE's messages.
pub(crate) struct Messages {
    /// This PE's.
    inbox: &'static Inbox,
    block: &'static PeBlock,
    state: Lock<State>,
    /// The position of the inbox that is read next.
    position: AtomicU64,
    /// Counts requests that have become complete, and messages that no receive has matched.
    changes: AtomicU32,
    /// Records that wait for room, and sends with fragments left.
    queued: AtomicU32,
    /// Counts what is under way to other nodes.
    context: Context,
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { state, queued, .. } = self;
        let mut debug = f.debug_struct("Messages");
        debug.field("state", state).field("queued", queued);
        debug.finish_non_exhaustive()
    }
}

/// What a send or a receive is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Party {
    /// Id of the team.
    pub team: u16,
    /// This PE's number in the team.
    pub me: usize,
    /// World number of the other PE; negative: any.
    pub peer: i32,
}

impl Party {
    /// The envelope of a message.
    #[inline]
    fn envelope(&self, is_eager: bool, tag: i32, bytes: u64) -> Envelope {
        Envelope {
            kind: if is_eager { Kind::Eager } else { Kind::Ready },
            team: self.team,
            source: self.me as u32,
            tag,
            len: if is_eager { bytes as u32 } else { 0 },
            bytes,
        }
    }
}

impl Messages {
    /// No messages; the inbox is as it was left.
    pub(crate) fn new(inbox: &'static Inbox, block: &'static PeBlock) -> Self {
        let reader = Reader::new(inbox);
        Self {
            inbox,
            block,
            position: AtomicU64::new(reader.position()),
            state: Lock::new(State {
                reader,
                requests: Requests::default(),
                matching: Matching::default(),
                kept: 0,
                outgoing: VecDeque::new(),
                sending: Vec::new(),
                copies: VecDeque::new(),
                remotes: Remotes::default(),
                open: 0,
                is_closing: false,
            }),
            changes: AtomicU32::new(0),
            queued: AtomicU32::new(0),
            context: Context::default(),
        }
    }

    /// Begins a send; its handle, or [`SENT`].
    ///
    /// # Safety
    /// `buffer` is readable for `bytes` bytes until the request is complete.
    #[inline(always)]
    pub(crate) unsafe fn send(
        &self,
        node: &Node,
        party: Party,
        tag: i32,
        buffer: *const u8,
        bytes: u64,
    ) -> u64 {
        if bytes <= SHORT as u64
            && self.queued.load(Ordering::Relaxed) == 0
            && let Some(index) = node.job.placement.local_index(party.peer as usize)
        {
            let inbox = self.inbox.neighbour(node.job.index, index);
            let envelope = party.envelope(true, tag, bytes);
            // SAFETY: the caller promises that the buffer is readable.
            if inbox.kept() < KEPT && unsafe { inbox.push_short(envelope, buffer) } {
                signals::notify(&node.job.control.pe_block(index).signals);
                inbox.prepare();
                return SENT;
            }
        }
        // SAFETY: as above.
        unsafe { self.send_any(node, party, tag, buffer, bytes) }
    }

    /// As [`send`](Self::send), of any length.
    ///
    /// # Safety
    /// As [`send`](Self::send).
    #[inline(never)]
    unsafe fn send_any(
        &self,
        node: &Node,
        party: Party,
        tag: i32,
        buffer: *const u8,
        bytes: u64,
    ) -> u64 {
        let to = party.peer as usize;
        let Some(index) = node.job.placement.local_index(to) else {
            return self.send_remote(node, party, tag, buffer, bytes);
        };
        let inbox = self.inbox.neighbour(node.job.index, index);
        let is_eager = bytes <= EAGER && inbox.kept() < KEPT;
        let envelope = party.envelope(is_eager, tag, bytes);
        // SAFETY: the caller promises that the buffer is readable.
        let push = || unsafe { push_to(node, (index, inbox), &envelope, None, buffer) };
        if is_eager && self.queued.load(Ordering::Relaxed) == 0 && push() {
            return SENT;
        }
        self.begin_send(node, self.lock(), party, &envelope, buffer)
    }

    /// Begins a send that is not done at once.
    #[inline(never)]
    fn begin_send<'a>(
        &'a self,
        node: &Node,
        mut state: Guard<'a, State>,
        party: Party,
        envelope: &Envelope,
        buffer: *const u8,
    ) -> u64 {
        let (to, bytes) = (party.peer as usize, envelope.bytes);
        let is_eager = envelope.kind == Kind::Eager;
        let handle = state.add(Request {
            phase: Phase::Sent,
            is_send: true,
            team: party.team,
            peer: party.peer,
            buffer: buffer.cast_mut(),
            bytes,
            done: 0,
            all: bytes,
            allowed: bytes,
            reply: 0,
            status: Status::of(envelope, u64::MAX),
        });
        let control = (!is_eager).then(|| Control {
            request: 0,
            reply: handle,
            place: place(node, buffer, bytes, to),
            from: node.me as u64,
        });
        let request = if is_eager { handle } else { 0 };
        self.post(node, &mut state, to, *envelope, control, request);
        self.progress(node, state, None);
        handle
    }

    /// Begins a receive; its handle.
    ///
    /// # Safety
    /// `buffer` is writable for `bytes` bytes until the request is complete.
    pub(crate) unsafe fn receive(
        &self,
        node: &Node,
        pattern: Pattern,
        peer: i32,
        buffer: *mut u8,
        bytes: u64,
    ) -> u64 {
        let mut state = self.lock();
        let handle = state.add_receive(pattern, peer, buffer, bytes);
        match state.matching.find(&pattern) {
            Some(at) => self.deliver_unexpected(node, &mut state, at, handle),
            None => state.matching.post(pattern, handle),
        }
        self.progress(node, state, None);
        handle
    }

    /// Receives a message.
    ///
    /// # Safety
    /// `buffer` is writable for `bytes` bytes.
    #[inline(always)]
    pub(crate) unsafe fn receive_now(
        &self,
        node: &Node,
        routine: &'static str,
        pattern: Pattern,
        peer: i32,
        buffer: *mut u8,
        bytes: u64,
    ) -> Status {
        if !self.is_threaded()
            && let Some(status) = self.receive_next(node, pattern, buffer, bytes)
        {
            return status;
        }
        self.receive_any(
            node,
            routine,
            Receive {
                pattern,
                peer,
                buffer,
                bytes,
                status: None,
                handle: 0,
            },
        )
    }

    /// Receives a message, however it comes.
    #[inline(never)]
    fn receive_any(&self, node: &Node, routine: &str, mut receive: Receive) -> Status {
        // A message that was kept, or which comes while this is called.
        if let Some(status) = self.look_for(node, &mut receive) {
            return status;
        }
        let Receive { pattern, peer, .. } = receive;
        let reason = reason(routine, pattern.team, peer, false, pattern.tag);
        let mut seen = self.changes.load(Ordering::Acquire).wrapping_sub(1);
        node.transport.wait(&reason, signals::NOTIFIED, || {
            if !self.has_news(&mut seen) {
                return None;
            }
            self.look_for(node, &mut receive)
        })
    }

    /// Receives the next record of the inbox, or the one that comes within the time of a short wait, if that is the message and
    /// nothing else is to be done before: the way of a PE of one thread that sends and receives in turns.
    #[inline(always)]
    fn receive_next(
        &self,
        node: &Node,
        pattern: Pattern,
        buffer: *mut u8,
        bytes: u64,
    ) -> Option<Status> {
        let inbox = self.inbox;
        // SAFETY: the program promises that one thread at a time calls the library.
        let mut state = unsafe { self.state.lock(false) };
        if state.matching.unexpected() != 0
            || state.matching.has_posted()
            || self.queued.load(Ordering::Relaxed) != 0
        {
            return None;
        }
        // Messages of other nodes need polls of the fabric; a receive of the world team has waited in `receive_short`.
        let mut spins = match node.transport.internode() {
            None if usize::from(pattern.team) != WORLD => POLICY.spins(),
            _ => Spins::new(0),
        };
        let cell = state.reader.poll(inbox, || spins.again())?;
        // SAFETY: the reader has found a record there, which is released below.
        let (envelope, data) = unsafe { inbox.envelope(cell) };
        if envelope.kind != Kind::Eager || !pattern.takes(&envelope) {
            return None;
        }
        let n = envelope.bytes.min(bytes) as usize;
        // SAFETY: the receive's buffer has room; the record has as many bytes of data.
        unsafe { copy_eager(buffer, data, n) };
        if state.reader.release(inbox) {
            room(node, inbox);
        }
        self.position
            .store(state.reader.position(), Ordering::Relaxed);
        Some(Status::of(&envelope, bytes))
    }

    /// Makes progress, and looks for the message of a blocking receive.
    #[inline]
    fn look_for(&self, node: &Node, receive: &mut Receive) -> Option<Status> {
        let mut state = self.lock();
        if receive.handle == 0
            && state.matching.unexpected() != 0
            && let Some(at) = state.matching.find(&receive.pattern)
        {
            self.deliver_late(node, &mut state, receive, at);
        }
        // One that has matched a message waits for its data: all records are taken.
        let looking = (receive.handle == 0).then_some(&mut *receive);
        let mut state = self.progress(node, state, looking);
        if receive.status.is_none() && receive.handle != 0 {
            let status = take(&mut state.requests, receive.handle);
            return status.expect("of this call alone");
        }
        receive.status
    }

    /// Gives a blocking receive the unexpected message at `at`.
    #[cold]
    fn deliver_late(&self, node: &Node, state: &mut State, receive: &mut Receive, at: usize) {
        let Receive {
            pattern,
            peer,
            buffer,
            bytes,
            ..
        } = *receive;
        receive.handle = state.add_receive(pattern, peer, buffer, bytes);
        self.deliver_unexpected(node, state, at, receive.handle);
    }

    /// Gives a receive the unexpected message at `at`.
    fn deliver_unexpected(&self, node: &Node, state: &mut State, at: usize, handle: u64) {
        if let Some((envelope, data)) = state.matching.remove(at) {
            match &data {
                Data::Here(bytes, None) => {
                    state.keep(node, (bytes.len() as u64 + BESIDE).wrapping_neg());
                }
                Data::Here(bytes, Some(pe)) => self.owe(node, state, *pe, bytes.len() as u64),
                Data::There(_) => {}
            }
            self.deliver(node, state, handle, &envelope, &data);
        }
    }

    /// Whether something may have changed since the last call for the wait that `seen` is of.
    #[inline]
    fn has_news(&self, seen: &mut u32) -> bool {
        let changes = self.changes.load(Ordering::Acquire);
        let position = self.position.load(Ordering::Relaxed);
        let has_changed = changes != *seen;
        *seen = changes;
        has_changed
            || self.inbox.is_there(position)
            || self.queued.load(Ordering::Relaxed) != 0
            || ARRIVALS.count() != 0
    }

    /// Takes a receive back that no message has matched; false if one has. The handle must be live.
    pub(crate) fn cancel(&self, node: &Node, handle: u64) -> Option<bool> {
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
    pub(crate) fn probe(&self, node: &Node, pattern: &Pattern) -> Option<Status> {
        remote::poll(node);
        let state = self.enter(node);
        let at = state.matching.find(pattern)?;
        Some(Status::of(state.matching.envelope(at), u64::MAX))
    }

    /// Makes progress, and looks at the requests.
    pub(crate) fn look<R>(&self, node: &Node, then: &mut dyn FnMut(&mut Requests) -> R) -> R {
        remote::poll(node);
        then(&mut self.enter(node).requests)
    }

    /// Waits until `is_done`, which is asked after each change.
    pub(crate) fn wait(
        &self,
        node: &Node,
        reason: &WaitReason<'_>,
        is_done: &mut dyn FnMut(&mut Requests) -> bool,
    ) {
        self.wait_until(node, reason, &mut |state| is_done(&mut state.requests));
    }

    fn wait_until(
        &self,
        node: &Node,
        reason: &WaitReason<'_>,
        is_done: &mut dyn FnMut(&mut State) -> bool,
    ) {
        let mut seen = self.changes.load(Ordering::Acquire).wrapping_sub(1);
        node.transport.wait(reason, signals::NOTIFIED, || {
            if !self.has_news(&mut seen) {
                return None;
            }
            is_done(&mut self.enter(node)).then_some(())
        });
    }

    /// Waits for the first message that a pattern takes.
    pub(crate) fn await_message(
        &self,
        node: &Node,
        reason: &WaitReason<'_>,
        pattern: &Pattern,
    ) -> Status {
        let mut found = Status::default();
        self.wait_until(node, reason, &mut |state| {
            let at = state.matching.find(pattern);
            if let Some(at) = at {
                found = Status::of(state.matching.envelope(at), u64::MAX);
            }
            at.is_some()
        });
        found
    }

    /// What a wait for a request is recorded as. None if it is not live.
    pub(crate) fn reason<'a>(&self, routine: &'a str, handle: u64) -> Option<WaitReason<'a>> {
        let mut state = self.lock();
        let request = state.requests.get(handle)?;
        let (team, peer, tag) = (request.team, request.peer, request.status.tag);
        Some(reason(routine, team, peer, request.is_send, tag))
    }

    /// Makes progress if no other thread does: for waits of other routines.
    pub(crate) fn attend(&self, node: &Node) {
        // SAFETY: as in `lock`.
        if let Some(state) = unsafe { self.state.try_lock(self.is_threaded()) } {
            self.progress(node, state, None);
        }
    }

    /// The team of an id ends, on which all members have synchronised: forgets the messages that were not received. False
    /// if requests are under way.
    pub(crate) fn leave_team(&self, node: &Node, id: usize) -> bool {
        let mut state = self.take_all(node);
        // No message of the team comes after.
        let is_of_team = |request: &Request| usize::from(request.team) == id;
        if state.requests.under_way().any(is_of_team) {
            return false;
        }
        while let Some(at) = state.matching.last_of(id) {
            match state.matching.remove(at) {
                Some((_, Data::Here(bytes, None))) => {
                    state.keep(node, (bytes.len() as u64 + BESIDE).wrapping_neg());
                }
                Some((_, Data::Here(bytes, Some(pe)))) => {
                    self.owe(node, &mut state, pe, bytes.len() as u64);
                }
                _ => {}
            }
        }
        true
    }

    /// Before the job's PEs synchronise in `shmem_finalize`: sends what other PEs wait for.
    pub(crate) fn flush(&self, node: &Node, routine: &str) {
        let mut state = self.lock();
        state.is_closing = true;
        state.publish();
        drop(state);
        if self.queued.load(Ordering::Relaxed) != 0 {
            let reason = reason(routine, 0, -1, true, -1);
            self.wait(node, &reason, &mut |_| {
                self.queued.load(Ordering::Relaxed) == 0
            });
        }
        self.drain(node, routine);
    }

    /// After that synchronisation: goes on as before, or leaves the inbox empty if it was the last.
    pub(crate) fn leave(&self, node: &Node, is_last: bool) {
        let mut state = self.lock();
        // What other nodes have sent after the synchronisation needs no answer.
        state.remotes.is_left = is_last;
        drop(state);
        let mut state = self.take_all(node);
        state.is_closing = false;
        state.publish();
        if is_last {
            state.kept = 0;
            state.keep(node, 0);
            state.reader.leave(self.inbox);
            attend::PENDING.store(0, Ordering::Relaxed);
        }
    }

    /// Whether several threads may call the library at a time.
    #[inline]
    fn is_threaded(&self) -> bool {
        self.block.thread_level.load(Ordering::Relaxed) == THREAD_MULTIPLE
    }

    #[inline]
    fn lock(&self) -> Guard<'_, State> {
        // SAFETY: below SHMEM_THREAD_MULTIPLE, the program promises that one thread at a time calls the library. No
        // other thread of the library enters.
        unsafe { self.state.lock(self.is_threaded()) }
    }

    /// Locks, and makes progress.
    fn enter(&self, node: &Node) -> Guard<'_, State> {
        self.progress(node, self.lock(), None)
    }

    /// Locks, and takes all records that are in the inbox.
    fn take_all(&self, node: &Node) -> Guard<'_, State> {
        loop {
            let mut state = self.enter(node);
            if state.reader.next(self.inbox).is_none() {
                return state;
            }
        }
    }

    /// Writes a record to a PE's inbox, now or when there is room.
    fn post(
        &self,
        node: &Node,
        state: &mut State,
        to: usize,
        envelope: Envelope,
        control: Option<Control>,
        request: u64,
    ) {
        let outgoing = Outgoing {
            to,
            envelope,
            control,
            request,
        };
        if !state.outgoing.is_empty() || !self.write(node, state, &outgoing) {
            state.outgoing.push_back(outgoing);
            self.count_queued(state);
        }
    }

    /// Writes a record if there is room for it.
    fn write(&self, node: &Node, state: &mut State, outgoing: &Outgoing) -> bool {
        let Outgoing {
            to,
            envelope,
            control,
            request,
        } = outgoing;
        let data = state.requests.get(*request).map(|r| r.buffer.cast_const());
        let data = data.unwrap_or(std::ptr::null());
        // SAFETY: a send's buffer, which stays readable until it is complete; other records have no data here.
        if !unsafe { self.push(node, *to, envelope, control.as_ref(), data) } {
            return false;
        }
        if *request != 0 {
            self.complete(state, *request);
        }
        true
    }

    /// Writes a record to a PE, if there is room for it.
    ///
    /// # Safety
    /// `data` is readable for `envelope.len` bytes.
    unsafe fn push(
        &self,
        node: &Node,
        to: usize,
        envelope: &Envelope,
        control: Option<&Control>,
        data: *const u8,
    ) -> bool {
        match local_inbox(node, to) {
            // SAFETY: the caller promises that `data` is readable for as many bytes as the envelope
            // says.
            Some((index, inbox)) => unsafe {
                push_to(node, (index, inbox), envelope, control, data)
            },
            // SAFETY: as above.
            None => unsafe { self.push_remote(node, to, envelope, control, data) },
        }
    }

    fn count_queued(&self, state: &State) {
        let queued = state.outgoing.len() + state.sending.len() + state.remotes.transfers.len();
        self.queued.store(queued as u32, Ordering::Relaxed);
        state.publish();
    }

    /// Does what can be done, until a blocking receive has its message.
    #[inline]
    fn progress<'a>(
        &'a self,
        node: &Node,
        mut state: Guard<'a, State>,
        mut receive: Option<&mut Receive>,
    ) -> Guard<'a, State> {
        if self.queued.load(Ordering::Relaxed) != 0 {
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
        self.position
            .store(state.reader.position(), Ordering::Relaxed);
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
            // SAFETY: a part of a message's buffer and of symmetric memory, as `deliver` and `clear` have found. Both stay
            // until the requests of the two PEs are complete, which are below.
            unsafe { offload::copy(copy.dest, copy.source, copy.bytes) };
            state = self.lock();
            self.complete(&mut state, copy.request);
            let (envelope, control) = (copy.envelope, Some(copy.control));
            self.post(node, &mut state, copy.to, envelope, control, 0);
        }
        state
    }

    #[cold]
    fn write_queued(&self, node: &Node, state: &mut State) {
        // A PE's records stay in their order.
        let mut full: Vec<usize> = Vec::new();
        for _ in 0..state.outgoing.len() {
            let Some(outgoing) = state.outgoing.pop_front() else {
                break;
            };
            if full.contains(&outgoing.to) || !self.write(node, state, &outgoing) {
                full.push(outgoing.to);
                state.outgoing.push_back(outgoing);
            }
        }
        let mut sending = std::mem::take(&mut state.sending);
        sending.retain(|handle| !self.send_fragments(node, state, *handle));
        state.sending = sending;
        self.end_transfers(node, state);
        self.count_queued(state);
    }

    /// Writes fragments of a message as long as there is room; whether all are that may be written.
    fn send_fragments(&self, node: &Node, state: &mut State, handle: u64) -> bool {
        let Some(request) = state.requests.get(handle) else {
            return true;
        };
        let longest = remote::longest_fragment(node, request.peer as usize).unwrap_or(FRAGMENT);
        while request.done < request.allowed {
            let len = longest.min(request.allowed - request.done);
            let envelope = Envelope {
                kind: Kind::Fragment,
                team: request.team,
                source: 0,
                tag: 0,
                len: len as u32,
                bytes: 0,
            };
            let control = Control {
                request: request.reply,
                reply: 0,
                place: request.done,
                from: 0,
            };
            let data = request.buffer.wrapping_add(request.done as usize);
            let to = request.peer as usize;
            // SAFETY: a part of the send's buffer, which is not complete.
            if !unsafe { self.push(node, to, &envelope, Some(&control), data) } {
                return false;
            }
            request.done += len;
        }
        if request.done == request.all {
            self.complete(state, handle);
        }
        true
    }

    /// Takes a record. A blocking receive is asked after those that were posted.
    ///
    /// # Safety
    /// It is one: `control` is valid unless it is eager, `data` for its length.
    #[inline]
    unsafe fn take(
        &self,
        node: &Node,
        state: &mut State,
        record: &Record,
        receive: Option<&mut Receive>,
    ) {
        let envelope = &record.envelope;
        let receive = receive.filter(|receive| receive.pattern.takes(envelope));
        if envelope.kind == Kind::Eager
            && !state.matching.has_posted()
            && let Some(receive) = receive
        {
            let n = envelope.bytes.min(receive.bytes) as usize;
            // SAFETY: the receive's buffer has room; the caller promises the data.
            unsafe { copy_eager(receive.buffer, record.data, n) };
            receive.status = Some(Status::of(envelope, receive.bytes));
            return;
        }
        // SAFETY: the caller promises that the receive's buffer is writable for its length.
        unsafe { self.take_any(node, state, record, receive) }
    }

    /// Takes any record, with a blocking receive if that takes the message.
    ///
    /// # Safety
    /// As [`take`](Self::take).
    #[inline(never)]
    unsafe fn take_any(
        &self,
        node: &Node,
        state: &mut State,
        record: &Record,
        receive: Option<&mut Receive>,
    ) {
        let (envelope, data) = (&record.envelope, record.data);
        let len = envelope.len as usize;
        let is_message = matches!(envelope.kind, Kind::Eager | Kind::Ready);
        let matched = is_message.then(|| {
            state.matching.take(envelope).or_else(|| {
                let receive = receive?;
                let Receive {
                    pattern,
                    peer,
                    buffer,
                    bytes,
                    ..
                } = *receive;
                receive.handle = state.add_receive(pattern, peer, buffer, bytes);
                Some(receive.handle)
            })
        });
        let matched = matched.flatten();
        if envelope.kind == Kind::Eager {
            return match matched {
                Some(handle) => {
                    let Some(request) = state.requests.get(handle) else {
                        return;
                    };
                    let n = envelope.bytes.min(request.bytes) as usize;
                    request.status = Status::of(envelope, request.bytes);
                    // SAFETY: the receive's buffer has room; the caller promises the data.
                    unsafe { copy_eager(request.buffer, data, n) };
                    self.complete(state, handle);
                }
                None => {
                    let mut kept: Vec<u8> = Vec::with_capacity(len);
                    // SAFETY: there is room for as many bytes, which the caller promises to be readable.
                    unsafe {
                        kept.as_mut_ptr().copy_from_nonoverlapping(data, len);
                        kept.set_len(len);
                    }
                    let data = Data::Here(kept.into_boxed_slice(), record.remote);
                    state.matching.keep(*envelope, data);
                    if record.remote.is_none() {
                        state.keep(node, len as u64 + BESIDE);
                    }
                    self.changes.fetch_add(1, Ordering::Release);
                }
            };
        }
        // SAFETY: the caller promises a control part.
        let control = unsafe { record.control.read() };
        match envelope.kind {
            Kind::Eager => {}
            Kind::More => self.send_more(node, state, &control, envelope.bytes),
            Kind::Credit => state.remotes.credit(control.from as usize, envelope.bytes),
            Kind::Ready => {
                let data = Data::There(control);
                match matched {
                    Some(handle) => self.deliver(node, state, handle, envelope, &data),
                    None => {
                        state.matching.keep(*envelope, data);
                        self.changes.fetch_add(1, Ordering::Release);
                    }
                }
            }
            Kind::Clear => self.clear(node, state, envelope.bytes, &control),
            Kind::Fragment => {
                if let Some(request) = state.requests.get(control.request) {
                    let to = request.buffer.wrapping_add(control.place as usize);
                    // SAFETY: within what this PE has asked for, of the receive's buffer.
                    unsafe { to.copy_from_nonoverlapping(data, len) };
                    request.done += len as u64;
                    if request.done == request.all {
                        self.complete(state, control.request);
                    } else {
                        self.allow_more(node, state, control.request);
                    }
                }
            }
            Kind::Written | Kind::Read => self.complete(state, control.request),
        }
    }

    /// Gives a message to the receive that it has matched.
    fn deliver(
        &self,
        node: &Node,
        state: &mut State,
        handle: u64,
        envelope: &Envelope,
        data: &Data,
    ) {
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        let n = envelope.bytes.min(request.bytes);
        let buffer = request.buffer;
        request.status = Status::of(envelope, request.bytes);
        let control = match data {
            Data::Here(data, _) => {
                // SAFETY: the receive's buffer has room for so many, and so many were kept.
                unsafe { offload::copy(buffer, data.as_ptr(), n as usize) };
                return self.complete(state, handle);
            }
            Data::There(control) => control,
        };
        let from = control.from as usize;
        (request.peer, request.reply) = (from as i32, control.reply);
        let here = match state.requests.get(control.reply) {
            Some(send) if from == node.me => Some(send.buffer.cast_const()),
            _ => address(node, control.place, n, from).map(<*mut u8>::cast_const),
        };
        let mut answer = Control {
            request: control.reply,
            reply: handle,
            place: NOWHERE,
            from: node.me as u64,
        };
        let there = remote::place(node, control.place, n, from);
        let kind = if here.is_some() || there.is_some() || n == 0 {
            Kind::Read
        } else {
            Kind::Clear
        };
        let envelope = Envelope {
            kind,
            len: 0,
            bytes: n,
            ..*envelope
        };
        if let Some(source) = here.filter(|_| n > 0) {
            if let Some(request) = state.requests.get(handle) {
                request.phase = Phase::Receiving;
            }
            // The sender's data, in memory that this process has mapped, stay as they are until the sender is answered.
            state.copies.push_back(Copy {
                dest: buffer,
                source,
                bytes: n as usize,
                request: handle,
                to: from,
                envelope,
                control: answer,
            });
            return;
        }
        if let Some(there) = there.filter(|_| n > 0) {
            let transfer = state.transfer(handle, from, envelope, answer);
            // SAFETY: the receive's buffer stays until it is complete, which is after the transfer.
            unsafe { transfer.read(node, buffer, there, n) };
            return self.begin_transfer(state, transfer);
        }
        if kind == Kind::Read {
            self.complete(state, handle);
        } else {
            answer.place = place(node, buffer, n, from);
            if let Some(request) = state.requests.get(handle) {
                (request.phase, request.all) = (Phase::Receiving, n);
                request.allowed = remote::allowed(node, from, n);
            }
        }
        self.post(node, state, from, envelope, Some(answer), 0);
    }

    /// A receive has matched one of this PE's sends, and asks for `bytes` of its data.
    fn clear(&self, node: &Node, state: &mut State, bytes: u64, control: &Control) {
        let handle = control.request;
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        let (to, buffer) = (request.peer as usize, request.buffer);
        let envelope = Envelope {
            kind: Kind::Written,
            team: request.team,
            source: 0,
            tag: 0,
            len: 0,
            bytes,
        };
        let written = Control {
            request: control.reply,
            ..Control::default()
        };
        if let Some(there) = remote::place(node, control.place, bytes, to) {
            let transfer = state.transfer(handle, to, envelope, written);
            // SAFETY: the send's buffer stays until it is complete, which is after the transfer.
            unsafe { transfer.write(node, there, buffer, bytes) };
            return self.begin_transfer(state, transfer);
        }
        if let Some(dest) = address(node, control.place, bytes, to) {
            // The receive's buffer, in memory that this process has mapped, stays until the receiver is answered.
            state.copies.push_back(Copy {
                dest,
                source: buffer,
                bytes: bytes as usize,
                request: handle,
                to,
                envelope,
                control: written,
            });
            return;
        }
        request.phase = Phase::Sending;
        (request.reply, request.all) = (control.reply, bytes);
        request.allowed = remote::allowed(node, to, bytes);
        if !self.send_fragments(node, state, handle) {
            state.sending.push(handle);
            self.count_queued(state);
        }
    }

    /// A request is complete.
    fn complete(&self, state: &mut State, handle: u64) {
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        request.phase = Phase::Complete;
        state.close();
        self.changes.fetch_add(1, Ordering::Release);
        if self.is_threaded() {
            // Another thread may sleep until it is.
            signals::notify(&self.block.signals);
        }
    }
}

impl Receive {
    fn has_matched(&self) -> bool {
        self.status.is_some() || self.handle != 0
    }
}

/// A handle names no request: it has ended, or there never was one.
#[derive(Debug)]
pub(crate) struct Dead;

/// The status of the request of a handle, which ends if it is complete.
pub(crate) fn take(requests: &mut Requests, handle: u64) -> Result<Option<Status>, Dead> {
    if handle == SENT {
        return Ok(Some(Status::default()));
    }
    let request = requests.get(handle).ok_or(Dead)?;
    if request.phase != Phase::Complete {
        return Ok(None);
    }
    let status = request.status;
    requests.remove(handle);
    Ok(Some(status))
}

/// What a wait for a message is recorded as.
pub(crate) fn reason(
    routine: &str,
    team: u16,
    peer: i32,
    is_send: bool,
    tag: i32,
) -> WaitReason<'_> {
    WaitReason {
        team: team.into(),
        members: (peer, is_send.into(), 1),
        sequence: tag as u32,
        ..WaitReason::at(WaitKind::Message, routine, 0)
    }
}

impl State {
    fn add(&mut self, request: Request) -> u64 {
        self.open += 1;
        self.publish();
        self.requests.add(request)
    }

    fn add_receive(&mut self, pattern: Pattern, peer: i32, buffer: *mut u8, bytes: u64) -> u64 {
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
            status: Status {
                tag: pattern.tag,
                ..Status::default()
            },
        })
    }

    fn close(&mut self) {
        self.open -= 1;
        self.publish();
    }

    /// Says whether waits of other routines have something to attend to.
    fn publish(&self) {
        let pending = self.open + self.outgoing.len() as u32 + u32::from(self.is_closing);
        attend::PENDING.store(pending, Ordering::Relaxed);
    }

    /// Keeps so many more bytes.
    fn keep(&mut self, node: &Node, bytes: u64) {
        self.kept = self.kept.wrapping_add(bytes);
        let own = node.job.control.inbox(node.job.index);
        own.set_kept(self.kept);
    }
}

/// The number on this node, and the inbox, of a PE that is of it.
#[inline]
fn local_inbox(node: &Node, pe: usize) -> Option<(usize, &'static Inbox)> {
    let index = node.job.placement.local_index(pe)?;
    Some((index, node.job.control.inbox(index)))
}

/// Writes a record to the inbox of the PE of this node with a number there, and wakes it.
///
/// # Safety
/// `data` is readable for `envelope.len` bytes.
#[inline]
unsafe fn push_to(
    node: &Node,
    (index, inbox): (usize, &Inbox),
    envelope: &Envelope,
    control: Option<&Control>,
    data: *const u8,
) -> bool {
    // SAFETY: the caller promises that `data` is readable for as many bytes as the envelope says.
    let is_pushed = unsafe { inbox.push(envelope, control, data) };
    if is_pushed {
        signals::notify(&node.job.control.pe_block(index).signals);
    } else {
        inbox.want_room(true);
    }
    is_pushed
}

/// This PE's inbox has room again.
#[cold]
fn room(node: &Node, inbox: &Inbox) {
    // Either this sees that a PE wants room, or that one's next look sees the room.
    fence(Ordering::SeqCst);
    if inbox.want_room(false) {
        for pe in node.job.placement.local_pes() {
            node.transport.notify(*pe as usize);
        }
    }
}

/// Where in symmetric memory bytes are, if PE `peer` can reach them.
fn place(node: &Node, at: *const u8, bytes: u64, peer: usize) -> u64 {
    let space = node.transport.memory.space;
    let is_other = node.transport.runs_other_program(peer);
    space.place_of(at.expose_provenance(), bytes as usize, is_other)
}

/// Where PE `peer`'s bytes at a place are mapped in this process.
fn address(node: &Node, place: u64, bytes: u64, peer: usize) -> Option<*mut u8> {
    let space = node.transport.memory.space;
    let index = node.job.placement.local_index(peer)?;
    space.translate(space.address(place)?, bytes as usize, index)
}

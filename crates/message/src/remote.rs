//! Messages between nodes: how records travel, and how data follow them.
//!
//! A record goes in the fabric's messages to its receiver, whose thread that makes progress adds it to [`ARRIVALS`];
//! from there on it is like one of the inbox. So the records of a PE to another keep their order, and many that are
//! sent together are one message of the fabric.
//!
//! # Flow control
//!
//! A PE may have so many bytes of [eager](Kind::Eager) messages at each other one that no receive has matched
//! ([`credit`]). What is beyond that, its sender keeps as if it were long. So no send waits for credit, and what a PE
//! keeps for others is bounded: by the credit of each, by a short record for each send that has begun, and by a
//! [`WINDOW`] for each receive that has matched. Credit comes back when receives match. Beneath, the fabric's messages
//! are acknowledged by any thread that makes progress, whatever the program does.
//!
//! # Long messages
//!
//! Where the sender's buffer is symmetric, or the fabric exposes it, the receiver reads the data straight into its
//! buffer. Else the sender writes them where the receiver's is symmetric, and else they go in fragments, at most a
//! window of which the receiver has not taken. What a send exposes is withdrawn when the receiver has answered.

use std::slice;

use ferroshmem_core::failure::fatal::fatal;
use ferroshmem_core::internode;
use ferroshmem_core::memory::{MemoryKind, NOWHERE};
use ferroshmem_core::node::Node;
use ferroshmem_core::transport::Transport;
use ferroshmem_fabric::{Exposed, Exposure, Remote};
use ferroshmem_layout::inbox::{Envelope, Kind, Record, RendezvousControl};

use super::credit::FragmentWindow;
use super::remotes::{Transfer, fabric};
use super::request::{Phase, Receive, SENT, TeamPeer};
use super::state::State;
use super::{ARRIVALS, BESIDE, EAGER, KEPT, Messages, wire};

/// Bytes of fragments on their way to a receive, or not yet taken.
const WINDOW: u64 = 512 << 10;
/// Bytes of eager messages of one PE at another that no receive has matched: no less, and no more.
const CREDIT: (u64, u64) = (16 << 10, 1 << 20);

/// Bytes of eager messages that a PE may have at another one, of which no receive has matched: [`KEPT`] of all
/// together, if these are few.
fn credit(node: &Node) -> u64 {
    let n = node.job.n_pes() as u64;
    (KEPT / n).clamp(CREDIT.0, CREDIT.1)
}

impl State {
    /// A receive waits for the rest of its message, `n` bytes but for those that have come.
    pub(super) fn await_rest(&mut self, node: &Node, handle: u64, from: usize, (done, n): (u64, u64)) {
        if let Some(request) = self.requests.get(handle) {
            (request.phase, request.done, request.all) = (Phase::Receiving, done, n);
            request.allowed = allowed(node, from, n);
        }
    }

    /// A transfer that is about to begin.
    pub(super) fn transfer(
        &mut self,
        request: u64,
        to: usize,
        envelope: Envelope,
        control: RendezvousControl,
    ) -> Transfer {
        if let Some(request) = self.requests.get(request) {
            request.phase = if request.is_send { Phase::Sending } else { Phase::Receiving };
            // None of it comes in fragments.
            (request.done, request.all, request.allowed) = (0, 0, 0);
        }
        Transfer { context: self.remotes.spare.pop().unwrap_or_default(), request, to, envelope, control }
    }
}

impl Messages {
    /// Begins a send to a PE of another node.
    #[inline(never)]
    pub(super) fn send_remote(&self, node: &Node, to: TeamPeer, tag: i32, buffer: *const u8, bytes: u64) -> u64 {
        let pe = to.peer as usize;
        let mut state = self.lock();
        if ARRIVALS.count() != 0 {
            // Credit may be among them.
            state = self.progress(node, state, None);
        }
        let longest = (fabric(node).longest_record() - wire::HEAD) as u64;
        let peer = state.remotes.peer(node, pe);
        let is_eager = bytes <= longest && peer.take(bytes + BESIDE, credit(node));
        let envelope = to.envelope(is_eager, tag, bytes);
        let is_next = is_eager && state.outgoing.is_empty();
        // SAFETY: the caller of `send` promises that the buffer is readable.
        if is_next && unsafe { self.push_remote(node, pe, &envelope, None, buffer) } {
            return SENT;
        }
        self.begin_send(node, state, to, &envelope, buffer)
    }

    /// Sends a record to a PE of another node, if there is room for it.
    ///
    /// # Safety
    /// `data` is readable for `envelope.len` bytes.
    pub(super) unsafe fn push_remote(
        &self,
        node: &Node,
        to: usize,
        envelope: &Envelope,
        control: Option<&RendezvousControl>,
        data: *const u8,
    ) -> bool {
        let (head, n) = wire::head(envelope, control);
        let data = match envelope.len as usize {
            0 => &[],
            // SAFETY: the caller promises that `data` is readable for `envelope.len` bytes.
            len => unsafe { slice::from_raw_parts(data, len) },
        };
        fabric(node).send_record(&self.context, to, [&head[..n], data])
    }

    /// Waits until the PEs of other nodes have got all records.
    pub fn drain(&self, node: &Node, routine: &str) {
        if let Some(internode) = node.transport.internode() {
            let _wait = Transport::show_wait(routine);
            internode.fabric().quiet(&self.context);
        }
    }

    /// Takes records of other nodes, until a blocking receive has its message.
    #[cold]
    pub(super) fn take_arrivals(&self, node: &Node, state: &mut State, mut receive: Option<&mut Receive>) {
        // Out of the state, as records are read while it changes.
        let mut taken = std::mem::take(&mut state.remotes.taken);
        while !receive.as_ref().is_some_and(|r| r.has_matched()) {
            let Some((pe, envelope, control, data)) = taken.next() else {
                break;
            };
            if state.remotes.is_left {
                continue;
            }
            if !state.expects(node, pe, &envelope, &control) {
                unexpected(pe);
            }
            // Of the PE that the fabric names.
            let control = RendezvousControl { from: pe as u64, ..control };
            let record = Record { envelope, control: &raw const control, data: data.as_ptr(), remote: Some(pe as u32) };
            let was_kept = state.matching.unexpected();
            // SAFETY: the control part is here, the data are as long as `parse` has found; `expects` has seen that they
            // have room.
            unsafe { self.take(node, state, &record, receive.as_deref_mut()) };
            if envelope.kind == Kind::Eager && state.matching.unexpected() == was_kept {
                self.return_credit(node, state, pe as u32, data.len() as u64);
            }
        }
        state.remotes.taken = taken;
    }

    /// A receive has matched an eager message of a PE of another node, which may send as much again.
    #[inline(never)] // once for kept and other messages
    pub(super) fn return_credit(&self, node: &Node, state: &mut State, pe: u32, bytes: u64) {
        // A PE in `shmem_finalize` says no more of it.
        let limit = if state.is_closing { u64::MAX } else { credit(node) };
        let Some(owed) = state.remotes.peer(node, pe as usize).return_credit(bytes + BESIDE, limit) else {
            return;
        };
        let envelope = Envelope { kind: Kind::Credit, team: 0, source: 0, tag: 0, len: 0, bytes: owed };
        let control = Some(RendezvousControl::default());
        self.post(node, state, pe as usize, envelope, control, 0);
    }

    /// A receive takes fragments: allows more, when it has taken half of the window.
    pub(super) fn allow_more(&self, node: &Node, state: &mut State, handle: u64) {
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        let window = FragmentWindow { done: request.done, allowed: request.allowed, all: request.all };
        let Some(bytes) = window.advance(WINDOW) else {
            return;
        };
        request.allowed = bytes;
        let to = request.peer as usize;
        let control = RendezvousControl { request: request.reply, reply: handle, place: NOWHERE, from: 0 };
        let envelope = Envelope { kind: Kind::More, team: request.team, source: 0, tag: 0, len: 0, bytes };
        self.post(node, state, to, envelope, Some(control), 0);
    }

    /// A receive allows fragments up to so many bytes.
    pub(super) fn send_more(&self, node: &Node, state: &mut State, control: &RendezvousControl, bytes: u64) {
        let handle = control.request;
        if let Some(request) = state.requests.get(handle) {
            request.allowed = bytes;
        }
        if !state.sending.contains(&handle) && !self.send_fragments(node, state, handle) {
            state.sending.push(handle);
            self.count_queued(state);
        }
    }

    /// A transfer has begun.
    pub(super) fn begin_transfer(&self, state: &mut State, transfer: Transfer) {
        state.remotes.transfers.push(transfer);
        self.count_queued(state);
    }

    /// Ends the transfers that are complete.
    pub(super) fn end_transfers(&self, node: &Node, state: &mut State) {
        let is_complete = |t: &Transfer| fabric(node).is_complete(&t.context);
        while let Some(at) = state.remotes.transfers.iter().position(is_complete) {
            let transfer = state.remotes.transfers.swap_remove(at);
            let Transfer { context, request, to, envelope, control } = transfer;
            state.remotes.spare.push(context);
            self.complete(state, request);
            self.post(node, state, to, envelope, Some(control), 0);
        }
    }
}

impl State {
    /// Whether a record of another node says what its sender may say now.
    fn expects(&mut self, node: &Node, pe: usize, envelope: &Envelope, control: &RendezvousControl) -> bool {
        let (len, bytes) = (u64::from(envelope.len), envelope.bytes);
        let is_placed = || control.place == NOWHERE || place(node, control.place, bytes, pe).is_some();
        match envelope.kind {
            Kind::Eager | Kind::Credit => return true,
            // The fabric finds whether its sender may be read there.
            Kind::Exposed => return true,
            Kind::Ready => return len == 0 && is_placed(),
            _ => {}
        }
        let found = self.requests.get(control.request);
        let Some(request) = found.filter(|r| r.peer as usize == pe) else {
            return false;
        };
        let is_of = |is_send, phase| request.is_send == is_send && request.phase == phase;
        match envelope.kind {
            Kind::Clear => {
                is_of(true, Phase::Sent) && request.exposure.is_none() && bytes <= request.bytes && is_placed()
            }
            Kind::Read => is_of(true, Phase::Sent),
            Kind::More => is_of(true, Phase::Sending) && request.allowed < bytes && bytes <= request.all,
            Kind::Fragment => {
                is_of(false, Phase::Receiving) && control.place == request.done && len <= request.allowed - request.done
            }
            Kind::Written => is_of(false, Phase::Receiving) && request.all > 0,
            Kind::Eager | Kind::Credit | Kind::Ready | Kind::Exposed => true,
        }
    }
}

#[cold]
fn unexpected(pe: usize) -> ! {
    fatal(
        "messages",
        format_args!(
            "PE {pe} sent a record that does not belong to any message of this PE: let all PEs run the same build of \
                the library, and no other program of yours use its port"
        ),
    );
}

/// Makes progress with other nodes, for calls that look and do not wait.
#[inline]
pub(super) fn poll(node: &Node) {
    if let Some(internode) = node.transport.internode()
        && ARRIVALS.count() == 0
    {
        internode.fabric().progress();
    }
}

/// Lets a PE of another node read a message that is long enough for that, which stays readable until it is
/// [withdrawn](withdraw).
pub(super) fn expose(node: &Node, buffer: *const u8, bytes: u64, pe: usize) -> Option<(Exposure, Exposed)> {
    if bytes <= EAGER || node.job.placement.local_index(pe).is_some() {
        return None;
    }
    // SAFETY: the caller of `send` promises that the buffer is readable until the request is complete, before which
    // the answer to it withdraws this.
    unsafe { fabric(node).expose(buffer, bytes as usize) }
}

/// The receiver has read the message.
pub(super) fn withdraw(node: &Node, exposure: Exposure) {
    fabric(node).withdraw(exposure);
}

/// The longest fragment that goes to a PE, if it is of another node.
pub(super) fn longest_fragment(node: &Node, pe: usize) -> Option<u64> {
    let is_local = node.job.placement.local_index(pe).is_some();
    (!is_local).then(|| (fabric(node).longest_record() - wire::HEAD) as u64)
}

/// How many of a message's bytes may be sent in fragments before the receiver takes some.
pub(super) fn allowed(node: &Node, pe: usize, bytes: u64) -> u64 {
    match node.job.placement.local_index(pe) {
        Some(_) => bytes,
        None => bytes.min(WINDOW),
    }
}

/// Where a PE of another node has a place in symmetric memory.
pub(super) fn place(node: &Node, place: u64, bytes: u64, pe: usize) -> Option<Remote> {
    if node.job.placement.local_index(pe).is_some() {
        return None;
    }
    let space = node.transport.memory.space;
    let (kind, offset) = space.position(space.address(place)?, bytes as usize);
    let segment = match kind {
        MemoryKind::Heap => internode::HEAP,
        MemoryKind::Globals => internode::GLOBALS,
        MemoryKind::NotSymmetric => return None,
    };
    Some(Remote { pe, segment, offset })
}

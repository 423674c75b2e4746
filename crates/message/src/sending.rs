//! Sending: records go to the receiver's inbox or node, or wait in this PE's memory until there is room.

use ferroshmem_core::memory::NOWHERE;
use ferroshmem_core::node::Node;
use ferroshmem_core::team::health;
use ferroshmem_core::wait::signals;
use ferroshmem_fabric::Exposed;
use ferroshmem_layout::inbox::{Envelope, Kind, RendezvousControl, SHORT, copy_eager};

use super::local_inbox::{count_writer, local_inbox, push_to};
use super::lock::Guard;
use super::place;
use super::remote;
use super::request::{Phase, Request, SENT, Status, TeamPeer};
use super::state::{PendingRecord, State};
use super::{EAGER, FRAGMENT, FRAGMENTS, KEPT, Messages, SHORTEST};

impl Messages {
    /// Begins a send; its handle, or [`SENT`].
    ///
    /// # Safety
    /// `buffer` is readable for `bytes` bytes until the request is complete.
    #[inline(always)]
    pub unsafe fn send(&self, node: &Node, to: TeamPeer, tag: i32, buffer: *const u8, bytes: u64) -> u64 {
        let index = node.job.placement.local_index(to.peer as usize);
        if bytes <= SHORT as u64
            && self.queued.is_empty()
            && let Some(index) = index
        {
            let envelope = to.envelope(true, tag, bytes);
            // SAFETY: the caller promises that the buffer is readable.
            let write = |line| unsafe { copy_eager(line, buffer, bytes as usize) };
            if self.push_line(node, index, envelope, write) {
                return SENT;
            }
        }
        // SAFETY: as above.
        unsafe { self.send_any(node, index, to, tag, buffer, bytes) }
    }

    /// As [`send`](Self::send), of any length; `index` is the receiver's number on this node.
    ///
    /// # Safety
    /// As [`send`](Self::send).
    #[inline(never)]
    unsafe fn send_any(
        &self,
        node: &Node,
        index: Option<usize>,
        to: TeamPeer,
        tag: i32,
        buffer: *const u8,
        bytes: u64,
    ) -> u64 {
        let Some(index) = index else {
            return self.send_remote(node, to, tag, buffer, bytes);
        };
        let inbox = self.inbox_of(node, index);
        let is_eager = bytes <= EAGER && inbox.kept() < KEPT;
        let envelope = to.envelope(is_eager, tag, bytes);
        if health::is_on() && is_eager && bytes <= SHORT as u64 && self.queued.is_empty() {
            count_writer(self.block, 1);
            // SAFETY: the caller promises that the buffer is readable.
            let is_pushed = inbox.push_line(envelope, |line| unsafe { copy_eager(line, buffer, bytes as usize) });
            count_writer(self.block, u32::MAX);
            if is_pushed {
                signals::notify(&node.job.control.pe_block(index).signals);
                return SENT;
            }
        }
        // SAFETY: the caller promises that the buffer is readable.
        let push = || unsafe { push_to(node, (index, inbox), &envelope, None, buffer, false) };
        if is_eager && self.queued.is_empty() && push() {
            inbox.prepare(bytes as usize);
            return SENT;
        }
        self.begin_send(node, self.lock(), to, &envelope, buffer)
    }

    /// Begins a send that is not done at once.
    #[inline(never)]
    pub(super) fn begin_send<'a>(
        &'a self,
        node: &Node,
        mut state: Guard<'a, State>,
        to: TeamPeer,
        envelope: &Envelope,
        buffer: *const u8,
    ) -> u64 {
        let (pe, bytes) = (to.peer as usize, envelope.bytes);
        let is_eager = envelope.kind == Kind::Eager;
        let place = match is_eager {
            true => NOWHERE,
            false => place::of(node, buffer, bytes, pe),
        };
        let exposed = (!is_eager && place == NOWHERE).then(|| remote::expose(node, buffer, bytes, pe)).flatten();
        // The receiver copies as much as an eager message has while its answer is on its way, or keeps it if no receive
        // has matched.
        let is_whole = place != NOWHERE || pe == node.me || state.is_placed;
        let local = node.job.placement.local_index(pe);
        let ahead = match local {
            Some(to) if !is_whole && self.inbox_of(node, to).kept() < KEPT => bytes.min(EAGER),
            _ => 0,
        };
        let handle = state.add(Request {
            phase: Phase::Sent,
            is_send: true,
            team: to.team,
            peer: to.peer,
            buffer: buffer.cast_mut(),
            bytes,
            done: ahead,
            all: bytes,
            allowed: bytes,
            reply: 0,
            exposure: exposed.map(|(exposure, _)| exposure),
            status: Status::of(envelope, u64::MAX),
        });
        let mut envelope = Envelope { len: envelope.len.max(ahead as u32), ..*envelope };
        let mut control = RendezvousControl { request: 0, reply: handle, place, from: node.me as u64 };
        if let Some((_, Exposed { address, key })) = exposed {
            envelope.kind = Kind::Exposed;
            (control.place, control.request) = (address, key);
        } else if !is_eager && place == NOWHERE && pe != node.me && local.is_some() {
            envelope.kind = Kind::Exposed;
            let token = &raw const self.token;
            (control.place, control.request) = (buffer.addr() as u64, token.addr() as u64);
        }
        let control = (!is_eager).then_some(control);
        self.post(node, &mut state, pe, envelope, control, handle);
        self.progress(node, state, None);
        handle
    }

    /// Writes a record to a PE's inbox, now or when there is room.
    #[inline(never)] // once for all records
    pub(super) fn post(
        &self,
        node: &Node,
        state: &mut State,
        to: usize,
        envelope: Envelope,
        control: Option<RendezvousControl>,
        request: u64,
    ) {
        let outgoing = PendingRecord { to, envelope, control, request };
        if !state.outgoing.is_empty() || !self.write(node, state, &outgoing) {
            state.outgoing.push_back(outgoing);
            self.count_queued(state);
        }
    }

    /// Writes a record if there is room for it.
    fn write(&self, node: &Node, state: &mut State, outgoing: &PendingRecord) -> bool {
        let PendingRecord { to, envelope, control, request } = outgoing;
        let data = state.requests.get(*request).map(|r| r.buffer.cast_const());
        let data = data.unwrap_or(std::ptr::null());
        // SAFETY: a send's buffer, which stays readable until it is complete; other records have no data here.
        if !unsafe { self.push(node, *to, envelope, control.as_ref(), data, false) } {
            return false;
        }
        if envelope.kind == Kind::Eager {
            self.complete(state, *request);
        }
        true
    }

    /// Writes a record to a PE, if there is room for it; whether `more` follow at once.
    ///
    /// # Safety
    /// `data` is readable for `envelope.len` bytes.
    unsafe fn push(
        &self,
        node: &Node,
        to: usize,
        envelope: &Envelope,
        control: Option<&RendezvousControl>,
        data: *const u8,
        more: bool,
    ) -> bool {
        match local_inbox(node, to) {
            // SAFETY: the caller promises that `data` is readable for as many bytes as the envelope
            // says.
            Some((index, inbox)) => unsafe { push_to(node, (index, inbox), envelope, control, data, more) },
            // SAFETY: as above.
            None => unsafe { self.push_remote(node, to, envelope, control, data) },
        }
    }

    pub(super) fn count_queued(&self, state: &State) {
        let queued = state.outgoing.len() + state.sending.len() + state.remotes.transfers.len();
        self.queued.set(queued);
        state.publish();
    }

    #[cold]
    pub(super) fn write_queued(&self, node: &Node, state: &mut State) {
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
    pub(super) fn send_fragments(&self, node: &Node, state: &mut State, handle: u64) -> bool {
        let Some(request) = state.requests.get(handle) else {
            return true;
        };
        let here = || request.all.div_ceil(FRAGMENTS).clamp(SHORTEST, FRAGMENT);
        let longest = remote::longest_fragment(node, request.peer as usize).unwrap_or_else(here);
        while request.done < request.allowed {
            let len = longest.min(request.allowed - request.done);
            let envelope =
                Envelope { kind: Kind::Fragment, team: request.team, source: 0, tag: 0, len: len as u32, bytes: 0 };
            let control = RendezvousControl { request: request.reply, reply: 0, place: request.done, from: 0 };
            let data = request.buffer.wrapping_add(request.done as usize);
            let (to, more) = (request.peer as usize, request.done + len < request.allowed);
            // SAFETY: a part of the send's buffer, which is not complete.
            if !unsafe { self.push(node, to, &envelope, Some(&control), data, more) } {
                return false;
            }
            request.done += len;
        }
        if request.done == request.all {
            self.complete(state, handle);
        }
        true
    }
}

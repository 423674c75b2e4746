//! Receiving: a receive takes a message that is there, or is posted for one that comes; a blocking one looks for its
//! own.

use std::sync::atomic::Ordering;

use ferroshmem_core::node::Node;
use ferroshmem_core::team::WORLD;
use ferroshmem_core::wait::Spins;
use ferroshmem_layout::inbox::{Envelope, Kind, copy_eager};

use super::failures::FAILED;
use super::local_inbox::room;
use super::request::{Pattern, Receive, Status, take};
use super::state::{Data, State};
use super::{ARRIVALS, BESIDE, Messages, reason};

impl Messages {
    /// Begins a receive; its handle.
    ///
    /// # Safety
    /// `buffer` is writable for `bytes` bytes until the request is complete.
    pub unsafe fn receive(&self, node: &Node, pattern: Pattern, peer: i32, buffer: *mut u8, bytes: u64) -> u64 {
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
    pub unsafe fn receive_now(
        &self,
        node: &Node,
        routine: &'static str,
        pattern: Pattern,
        peer: i32,
        buffer: *mut u8,
        bytes: u64,
    ) -> Status {
        if !self.block.is_threaded()
            && let Some(status) = self.receive_next(node, pattern, buffer, bytes)
        {
            return status;
        }
        self.receive_any(node, routine, Receive { pattern, peer, buffer, bytes, status: None, handle: 0 })
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
        self.wait_for(node, &reason, || {
            let status = self.look_for(node, &mut receive);
            status.or_else(|| (receive.handle == 0 && self.is_in_vain(pattern.team)).then_some(FAILED))
        })
    }

    /// Receives the next record of the inbox, or the one that comes within the time of a short wait, if that is the
    /// message and nothing else is to be done before: the way of a PE of one thread that sends and receives in turns.
    #[inline(always)]
    fn receive_next(&self, node: &Node, pattern: Pattern, buffer: *mut u8, bytes: u64) -> Option<Status> {
        let inbox = self.inbox;
        // SAFETY: the program promises that one thread at a time calls the library.
        let mut state = unsafe { self.state.lock(false) };
        if !state.matching.is_empty() || !self.queued.is_empty() {
            return None;
        }
        // A receive of the world team has waited in `receive_short`.
        let is_world = usize::from(pattern.team) == WORLD;
        let mut spins = if is_world { Spins::new(0) } else { self.spins(node) };
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
        self.position.store(state.reader.position(), Ordering::Relaxed);
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
        let Receive { pattern, peer, buffer, bytes, .. } = *receive;
        receive.handle = state.add_receive(pattern, peer, buffer, bytes);
        self.deliver_unexpected(node, state, at, receive.handle);
    }

    /// Gives a receive the unexpected message at `at`.
    fn deliver_unexpected(&self, node: &Node, state: &mut State, at: usize, handle: u64) {
        if let Some((envelope, data)) = self.take_unexpected(node, state, at) {
            self.deliver(node, state, handle, &envelope, (&data.here, data.there.as_ref()));
        }
    }

    /// Takes the unexpected message at `at`, which is no longer kept.
    pub(super) fn take_unexpected(&self, node: &Node, state: &mut State, at: usize) -> Option<(Envelope, Data)> {
        let (envelope, data) = state.matching.remove(at)?;
        let bytes = data.here.len() as u64;
        match data.remote {
            None => state.keep(node, (bytes + BESIDE).wrapping_neg()),
            Some(pe) if data.there.is_none() => self.return_credit(node, state, pe, bytes),
            Some(_) => {}
        }
        Some((envelope, data))
    }

    /// Whether something may have changed since the last call for the wait that `seen` is of.
    #[inline]
    pub(super) fn has_arrivals(&self, seen: &mut u32) -> bool {
        let changes = self.changes.load(Ordering::Acquire);
        let position = self.position.load(Ordering::Relaxed);
        let has_changed = changes != *seen;
        *seen = changes;
        has_changed || self.inbox.is_there(position) || !self.queued.is_empty() || ARRIVALS.count() != 0
    }
}

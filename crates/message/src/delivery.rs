//! Delivery: what a record does, and which way the data of a message come to the receive that it has matched.

use std::slice;

use ferroshmem_core::memory::NOWHERE;
use ferroshmem_core::node::Node;
use ferroshmem_fabric::Exposed;
use ferroshmem_layout::inbox::{Envelope, Kind, Record, RendezvousControl, copy_eager};

use super::place;
use super::remote;
use super::request::{Phase, Receive, Status};
use super::state::{Copy, Data, State};
use super::{BESIDE, Messages, READ};

impl Messages {
    /// Takes a record. A blocking receive is asked after those that were posted.
    ///
    /// # Safety
    /// It is one: `control` is valid unless it is eager, `data` for its length.
    #[inline]
    pub(super) unsafe fn take(&self, node: &Node, state: &mut State, record: &Record, receive: Option<&mut Receive>) {
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
    unsafe fn take_any(&self, node: &Node, state: &mut State, record: &Record, receive: Option<&mut Receive>) {
        let envelope = &record.envelope;
        // SAFETY: the caller promises a control part, unless the record is eager.
        let control = (envelope.kind != Kind::Eager).then(|| unsafe { record.control.read() });
        // SAFETY: the caller promises as many bytes, which no PE changes.
        let data = unsafe { slice::from_raw_parts(record.data, envelope.len as usize) };
        if matches!(envelope.kind, Kind::Eager | Kind::Ready | Kind::Exposed) {
            let matched = state.matching.take(envelope).or_else(|| {
                let receive = receive?;
                let Receive { pattern, peer, buffer, bytes, .. } = *receive;
                receive.handle = state.add_receive(pattern, peer, buffer, bytes);
                Some(receive.handle)
            });
            if let Some(handle) = matched {
                return self.deliver(node, state, handle, envelope, (data, control.as_ref()));
            }
            state.matching.keep(*envelope, Data { here: data.into(), there: control, remote: record.remote });
            if record.remote.is_none() {
                state.keep(node, data.len() as u64 + BESIDE);
            }
            self.announce();
            return;
        }
        let control = control.expect("no eager record");
        match envelope.kind {
            Kind::Eager | Kind::Ready | Kind::Exposed => {}
            Kind::More => self.send_more(node, state, &control, envelope.bytes),
            Kind::Credit => state.remotes.credit(control.from as usize, envelope.bytes),
            Kind::Clear => self.clear(node, state, envelope.bytes, &control),
            Kind::Fragment => {
                if let Some(request) = state.requests.get(control.request) {
                    let to = request.buffer.wrapping_add(control.place as usize);
                    // SAFETY: within what this PE has asked for, of the receive's buffer.
                    unsafe { to.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
                    request.done += data.len() as u64;
                    if request.done == request.all {
                        self.complete(state, control.request);
                    } else {
                        self.allow_more(node, state, control.request);
                    }
                }
            }
            Kind::Read => {
                let request = state.requests.get(control.request);
                if let Some(exposure) = request.and_then(|request| request.exposure.take()) {
                    remote::withdraw(node, exposure);
                } else {
                    state.is_placed = true;
                }
                self.complete(state, control.request);
            }
            Kind::Written => self.complete(state, control.request),
        }
    }

    /// Gives a message to the receive that it has matched: what is here of it, and where the sender keeps the rest.
    pub(super) fn deliver(
        &self,
        node: &Node,
        state: &mut State,
        handle: u64,
        envelope: &Envelope,
        (data, there): (&[u8], Option<&RendezvousControl>),
    ) {
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        let n = envelope.bytes.min(request.bytes);
        let buffer = request.buffer;
        request.status = Status::of(envelope, request.bytes);
        let ahead = n.min(data.len() as u64);
        let Some(control) = there else {
            // SAFETY: the receive's buffer has room for so many, and so many are here.
            unsafe { copy_eager(buffer, data.as_ptr(), ahead as usize) };
            return self.complete(state, handle);
        };
        let from = control.from as usize;
        (request.peer, request.reply) = (from as i32, control.reply);
        let mut answer =
            RendezvousControl { request: control.reply, reply: handle, place: NOWHERE, from: node.me as u64 };
        let reply = |kind| Envelope { kind, len: 0, bytes: n, ..*envelope };
        let is_local = node.job.placement.local_index(from).is_some();
        let is_exposed = envelope.kind == Kind::Exposed;
        if is_exposed && !is_local && n > 0 {
            let there = Exposed { address: control.place, key: control.request };
            let transfer = state.transfer(handle, from, reply(Kind::Read), answer);
            // SAFETY: the receive's buffer stays until it is complete, which is after the transfer.
            unsafe { transfer.read_exposed(node, buffer, there, n) };
            return self.begin_transfer(state, transfer);
        }
        let here = match state.requests.get(control.reply) {
            Some(send) if from == node.me => Some(send.buffer.cast_const()),
            _ if is_exposed => None,
            _ => place::address(node, control.place, n, from).map(<*mut u8>::cast_const),
        };
        let there = if is_exposed { None } else { remote::place(node, control.place, n, from) };
        let own = if here.is_some() { NOWHERE } else { place::of(node, buffer, n, from) };
        // To symmetric memory, the sender copies sooner than the system does.
        let may_read = is_exposed && is_local && !state.is_refused && (ahead + 1..=READ).contains(&n) && own == NOWHERE;
        let is_read = here.is_some() || there.is_some() || may_read || n == ahead;
        let envelope = reply(if is_read { Kind::Read } else { Kind::Clear });
        let (source, token, copied) = match here {
            None if may_read => {
                // SAFETY: as above.
                unsafe { copy_ahead(buffer, data.as_ptr(), ahead as usize) };
                let rest = std::ptr::without_provenance((control.place + ahead) as usize);
                (Some(rest), Some(control.request as usize), ahead as usize)
            }
            here => (here, None, 0),
        };
        if let Some(source) = source.filter(|_| n > 0) {
            if let Some(request) = state.requests.get(handle) {
                request.phase = Phase::Receiving;
            }
            // The sender's data stay as they are until the sender is answered.
            state.copies.push_back(Copy {
                dest: buffer.wrapping_add(copied),
                source,
                token,
                bytes: n as usize - copied,
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
        if !is_read {
            answer.place = own;
            state.await_rest(node, handle, from, (ahead, n));
        }
        // The answer is on its way meanwhile.
        self.post(node, state, from, envelope, Some(answer), 0);
        // SAFETY: as above.
        unsafe { copy_ahead(buffer, data.as_ptr(), ahead as usize) };
        if is_read {
            self.complete(state, handle);
        }
    }

    /// A receive has matched one of this PE's sends, and asks for `bytes` of its data.
    fn clear(&self, node: &Node, state: &mut State, bytes: u64, control: &RendezvousControl) {
        let handle = control.request;
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        let (to, buffer, ahead) = (request.peer as usize, request.buffer, request.done as usize);
        let envelope = Envelope { kind: Kind::Written, team: request.team, source: 0, tag: 0, len: 0, bytes };
        let written = RendezvousControl { request: control.reply, ..RendezvousControl::default() };
        if let Some(there) = remote::place(node, control.place, bytes, to) {
            let transfer = state.transfer(handle, to, envelope, written);
            // SAFETY: the send's buffer stays until it is complete, which is after the transfer.
            unsafe { transfer.write(node, there, buffer, bytes) };
            return self.begin_transfer(state, transfer);
        }
        let dest = place::address(node, control.place, bytes, to);
        state.is_placed = dest.is_some();
        if let Some(dest) = dest {
            // The receive's buffer, in memory that this process has mapped, stays until the receiver is answered.
            state.copies.push_back(Copy {
                dest: dest.wrapping_add(ahead),
                token: None,
                source: buffer.wrapping_add(ahead),
                bytes: bytes as usize - ahead,
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
    pub(super) fn complete(&self, state: &mut State, handle: u64) {
        let Some(request) = state.requests.get(handle) else {
            return;
        };
        // One that was given up may be complete already.
        if std::mem::replace(&mut request.phase, Phase::Complete) != Phase::Complete {
            state.close();
            self.announce();
        }
    }
}

/// Copies what is here of a longer message.
///
/// # Safety
/// `to` is writable, and `from` readable, for `bytes` bytes.
#[inline(never)]
unsafe fn copy_ahead(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller promises that `from` is readable and `to` writable for `bytes` bytes.
    unsafe { copy_eager(to, from, bytes) }
}

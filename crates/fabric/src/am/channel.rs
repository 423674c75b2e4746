//! What passes between this PE and one other.

use std::collections::VecDeque;
use std::ptr;
use std::sync::Mutex;
use std::time::Instant;

use ferroshmem_platform::{Held, ShortLock};

use super::fault::Reason;
use super::network::Network;
use crate::completion::{CompletionCounter, PeerCounters};
use crate::encoding::message::{HEADER, Header, Kind};
use crate::encoding::request::{LastPut, Request, SegmentAddress, Short, append_put, append_record, put_bytes};
use crate::lock::hold;

/// Contexts whose items take turns in a message, each counted once: as many as threads that have one, usually.
const CONTEXTS: usize = 8;

/// Both directions of the way to a PE, made when the first message goes or comes.
#[derive(Default)]
pub(super) struct Channel {
    outgoing: ShortLock<Outgoing>,
    /// Locked before `outgoing`, where a thread needs both.
    pub incoming: Mutex<Incoming>,
}

impl Channel {
    /// Locks what goes to the PE.
    #[inline]
    pub(super) fn outgoing(&self) -> Held<'_, Outgoing> {
        hold(&self.outgoing)
    }
}

/// How much may be under way to a PE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Request messages that are not acknowledged.
    pub window: u32,
    /// Bytes of a message.
    pub capacity: usize,
    /// Bytes of one that has a record alone; at least as many.
    pub record: usize,
}

impl Limits {
    /// Request messages of records alone that a target acknowledges together, if it sends nothing meanwhile: of more it
    /// would have to keep the sender waiting.
    pub(super) fn together(self) -> u32 {
        (self.window / 4).max(1)
    }
}

/// What a thread or context waits for.
#[derive(Clone, Copy)]
pub(crate) struct PendingResult {
    /// Counts the request down when it has been executed.
    pub counter: CompletionCounter,
    /// Where the result goes, as long as the request says.
    pub result: *mut u8,
}

/// What one counter counts: a request with a result, or all in a row that have none.
struct Expected {
    pending: PendingResult,
    /// Bytes of the result; 0: there is none.
    len: usize,
}

/// What is to be appended to a message.
#[derive(Clone, Copy)]
pub(crate) enum MessageItem<'d> {
    Request(Request),
    Put(&'d [u8]),
    Record([&'d [u8]; 2]),
}

// SAFETY: the result is written by one thread, before the counter says so.
unsafe impl Send for Expected {}

// SAFETY: the pointer is only compared.
unsafe impl Send for Outgoing {}

/// A request message that has been sent.
struct SentMessage {
    sequence: u32,
    /// Bytes of all results.
    results: usize,
    expected: Vec<Expected>,
}

/// What goes to the PE.
pub(super) struct Outgoing {
    /// The request message that is being filled: room for a header, items. Empty: none.
    open: Vec<u8>,
    last_put: LastPut,
    expected: Vec<Expected>,
    /// What counts items without a result of this message, each once: those of the last contexts that had any; null:
    /// none.
    counted: [*const PeerCounters; CONTEXTS],
    results: usize,
    /// Results of request messages, by number, behind room for a header.
    replies: VecDeque<(u32, Vec<u8>)>,
    /// The PE is to learn at once that `executed` has changed.
    owes: bool,
    /// Request messages of records alone that have been executed since the last acknowledgement, which an answer
    /// carries.
    deferred: u32,
    /// Number of the PE's last request message that has been executed.
    executed: u32,
    /// The last request message had several items, and was at least half full, and the idle period that came before it
    /// ([`ActiveMessages`]; 0: it was not): requests come fast, and the next message is filled even if nothing else is
    /// under way.
    ///
    /// [`ActiveMessages`]: super::messages::ActiveMessages
    stream: u32,
    /// Number of the next request message.
    next: u32,
    /// Number of the last one that is acknowledged.
    acknowledged: u32,
    sent: VecDeque<SentMessage>,
    /// The message that is being filled has requests and puts, not records alone.
    has_requests: bool,
    /// It has more than what was added first.
    has_several: bool,
    /// The last request messages that have been sent, of records alone: their number.
    records: u32,
    /// See [`Limits::together`].
    together: u32,
    /// See [`Limits::capacity`].
    capacity: usize,
    /// Since when there is no room to send, and what had come from the PE until then.
    refused: Option<(Instant, u32)>,
    /// Something is to be sent at the next flush.
    pub listed: bool,
    /// An acknowledgement is to be sent at the next flush of [all](super::messages::Flush::All).
    pub listed_late: bool,
    /// What the PE may write requests to: one more than the slot's number, or 0.
    pub granted: u16,
    /// The PE's slot for requests of this one.
    slot: Option<usize>,
    slot_tag: u32,
    slot_busy: bool,
    /// The PE is: what is to go to it counts as executed, and what comes from it is not taken.
    pub is_lost: bool,
}

/// What comes from the PE.
pub(super) struct Incoming {
    /// Number of the request message that is to be executed next.
    pub next: u32,
    /// Messages that another thread has received before their predecessors were executed.
    pub early: Vec<(u32, Vec<u8>)>,
    pub is_known: bool,
}

impl Default for Incoming {
    fn default() -> Incoming {
        Incoming { next: 1, early: Vec::new(), is_known: false }
    }
}

impl Default for Outgoing {
    fn default() -> Outgoing {
        Outgoing {
            open: Vec::new(),
            last_put: LastPut::NONE,
            expected: Vec::new(),
            counted: [ptr::null(); CONTEXTS],
            results: 0,
            replies: VecDeque::new(),
            owes: false,
            deferred: 0,
            executed: 0,
            stream: 0,
            next: 1,
            acknowledged: 0,
            sent: VecDeque::new(),
            has_requests: false,
            has_several: false,
            records: 0,
            together: 1,
            capacity: 0,
            refused: None,
            listed: false,
            listed_late: false,
            granted: 0,
            slot: None,
            slot_tag: 0,
            slot_busy: false,
            is_lost: false,
        }
    }
}

impl Outgoing {
    /// Request messages that have been sent and are not acknowledged.
    pub(super) fn outstanding(&self) -> u32 {
        self.next.wrapping_sub(self.acknowledged).wrapping_sub(1)
    }

    /// Whether no acknowledgement is about to come: nothing is under way but records, which the PE acknowledges with an
    /// answer.
    pub(super) fn is_quiet(&self) -> bool {
        let n = self.outstanding();
        n == 0 || n <= self.records && n < self.together
    }

    /// Whether a request is to be sent at once: no other is under way, and there was an idle period since a stream of
    /// them.
    pub(super) fn is_idle(&self, idle_period: u32) -> bool {
        self.stream != idle_period && self.is_quiet()
    }

    /// Whether there is something that could be sent, were there room.
    pub(super) fn is_pending(&self) -> bool {
        !self.open.is_empty() || !self.replies.is_empty() || self.owes
    }

    /// Adds a request to the message that is being filled; its counter begins. False: there is no room.
    #[inline]
    pub(super) fn append(
        &mut self,
        limits: Limits,
        item: MessageItem<'_>,
        place: SegmentAddress,
        pending: PendingResult,
    ) -> bool {
        const MOST: usize = 3 * size_of::<u64>();
        let (bytes, len) = match item {
            MessageItem::Request(request) => (MOST, request.result_len()),
            MessageItem::Put(data) => (put_bytes(data.len()), 0),
            MessageItem::Record([head, data]) => (put_bytes(head.len() + data.len()), 0),
        };
        if self.is_lost {
            return true;
        }
        if !self.make_room(limits, bytes, len) {
            return false;
        }
        match item {
            MessageItem::Request(request) => {
                request.append(&mut self.open, place);
                self.last_put = LastPut::NONE;
            }
            MessageItem::Put(data) => append_put(&mut self.open, &mut self.last_put, place, data),
            MessageItem::Record(parts) => {
                append_record(&mut self.open, parts);
                self.last_put = LastPut::NONE;
            }
        }
        self.results += len;
        self.has_requests |= !matches!(item, MessageItem::Record(_));
        let peer = match pending.counter {
            CompletionCounter::Context { peer, .. } if len == 0 => peer.as_ptr(),
            _ => ptr::null_mut(),
        };
        if peer.is_null() || !self.counts(peer) {
            pending.counter.begin();
            self.expected.push(Expected { pending, len });
            if !peer.is_null() {
                self.counted.rotate_right(1);
                self.counted[0] = peer;
            }
        }
        true
    }

    /// Adds what a context has gathered, which its counter counts already, to the message that is being filled. False:
    /// there is no room.
    pub(super) fn append_items(&mut self, limits: Limits, items: &[u8], pending: PendingResult) -> bool {
        if self.is_lost {
            Expected { pending, len: 0 }.complete();
            return true;
        }
        if !self.make_room(limits, items.len(), 0) {
            return false;
        }
        self.open.extend_from_slice(items);
        self.last_put = LastPut::NONE;
        self.has_requests = true;
        self.expected.push(Expected { pending, len: 0 });
        true
    }

    /// Begins a message, if none is being filled. False: this one has no room for so many bytes, or for so many of
    /// results.
    #[inline]
    fn make_room(&mut self, limits: Limits, bytes: usize, results: usize) -> bool {
        let room = limits.capacity - HEADER;
        if self.open.is_empty() {
            self.open.reserve_exact(limits.capacity.max(HEADER + bytes));
            self.open.resize(HEADER, 0);
            self.last_put = LastPut::NONE;
            self.has_requests = false;
            self.has_several = false;
            self.together = limits.together();
            self.capacity = limits.capacity;
            return true;
        }
        self.has_several = true;
        self.open.len() + bytes <= limits.capacity && self.results + results <= room
    }

    /// Whether the message that is being filled has items without a result that these counters count.
    #[inline]
    fn counts(&self, peer: *const PeerCounters) -> bool {
        let [last, others @ ..] = &self.counted;
        ptr::eq(*last, peer) || others.contains(&peer)
    }

    /// Adds an item without a result behind others that the same counters count, and that wait for the next
    /// flush. False: it is none, or there is no room.
    #[inline]
    pub(super) fn append_to_open(
        &mut self,
        (capacity, idle_period): (usize, u32),
        item: Short,
        peer: &PeerCounters,
    ) -> bool {
        self.counts(peer)
            && self.listed
            && !self.is_idle(idle_period)
            && item.append(&mut self.open, &mut self.last_put, capacity)
    }

    /// Sends what may be sent: results, then requests if fewer than `window` messages of them are under way,
    /// then an acknowledgement, if none of the others carried it. False: there is no room for some of it.
    pub(super) fn send(
        &mut self,
        network: &impl Network,
        (me, pe): (usize, usize),
        (window, idle_period): (u32, u32),
    ) -> Result<bool, Reason> {
        while let Some((sequence, mut reply)) = self.replies.pop_front() {
            if !self.send_one(network, (me, pe), Kind::Results, sequence, &mut reply)? {
                self.replies.push_front((sequence, reply));
                return Ok(false);
            }
        }
        if !self.open.is_empty() && self.outstanding() < window {
            let mut open = std::mem::take(&mut self.open);
            // A long record by itself may be the only one.
            let is_one_record = !(self.has_requests || self.has_several);
            let is_half_full = 2 * open.len() >= self.capacity;
            let sent = self.send_one(network, (me, pe), Kind::Requests, self.next, &mut open);
            self.open = open;
            if !sent? {
                return Ok(false);
            }
            self.stream = if is_half_full && !is_one_record { idle_period } else { 0 };
            network.count_sent(pe);
            self.records = match self.has_requests {
                true => 0,
                false => self.records.saturating_add(1),
            };
            self.open.clear();
            self.counted = [ptr::null(); CONTEXTS];
            self.sent.push_back(SentMessage {
                sequence: self.next,
                results: std::mem::take(&mut self.results),
                expected: std::mem::take(&mut self.expected),
            });
            self.next = self.next.wrapping_add(1);
        }
        if self.owes {
            let mut message = vec![0; HEADER];
            return self.send_one(network, (me, pe), Kind::Acknowledgement, 0, &mut message);
        }
        Ok(true)
    }

    fn send_one(
        &mut self,
        network: &impl Network,
        (me, pe): (usize, usize),
        kind: Kind,
        sequence: u32,
        message: &mut Vec<u8>,
    ) -> Result<bool, Reason> {
        let header = Header {
            slot: self.granted,
            executed: self.executed,
            bytes: (message.len() - HEADER) as u32,
            ..Header::new(kind, me, sequence)
        };
        message[..HEADER].copy_from_slice(bytemuck::bytes_of(&header));
        let is_sent = network.send(pe, message, kind == Kind::Requests)?;
        if is_sent {
            self.owes = false;
            self.deferred = 0;
            self.refused = None;
            return Ok(true);
        }
        self.refuse(network, pe)?;
        Ok(false)
    }

    /// There is no room: an error if there has been none for long, and nothing has come from the PE.
    pub(super) fn refuse(&mut self, network: &impl Network, pe: usize) -> Result<(), Reason> {
        let completed = network.completed(pe);
        match self.refused {
            Some((since, before)) if before == completed => {
                if network.has_failed(pe, since) {
                    return Err(Reason::Refused);
                }
            }
            _ => self.refused = Some((Instant::now(), completed)),
        }
        Ok(())
    }

    /// The PE has executed request messages up to this number.
    pub(super) fn acknowledge(&mut self, network: &impl Network, pe: usize, executed: u32) -> Result<(), Reason> {
        let n = executed.wrapping_sub(self.acknowledged);
        if n > self.outstanding() {
            // Another thread received a later message before: then this one says nothing new.
            let is_old = n > u32::MAX / 2 || self.is_lost;
            return if is_old { Ok(()) } else { Err(Reason::Malformed) };
        }
        if n == 0 {
            return Ok(());
        }
        self.acknowledged = executed;
        network.count_completed(pe, n);
        // Those with results wait for these.
        self.sent.retain_mut(|sent| {
            let is_executed = executed.wrapping_sub(sent.sequence) <= u32::MAX / 2;
            let is_complete = is_executed && sent.results == 0;
            if is_complete {
                sent.expected.iter().for_each(Expected::complete);
            }
            !is_complete
        });
        Ok(())
    }

    /// The PE is lost: nobody waits for it.
    pub(super) fn lose(&mut self) {
        let (listed, listed_late) = (self.listed, self.listed_late);
        let lost = std::mem::replace(self, Outgoing { is_lost: true, listed, listed_late, ..Outgoing::default() });
        let sent = lost.sent.iter().flat_map(|sent| &sent.expected);
        sent.chain(&lost.expected).for_each(Expected::complete);
    }

    /// The results of a request message are there.
    pub(super) fn results(&mut self, sequence: u32, mut body: &[u8]) -> Result<(), Reason> {
        let at = self.sent.iter().position(|sent| sent.sequence == sequence);
        let sent = at.and_then(|at| self.sent.remove(at));
        let Some(sent) = sent.filter(|sent| sent.results == body.len()) else {
            return Err(Reason::Malformed);
        };
        for expected in &sent.expected {
            let (result, rest) = body.split_at(expected.len);
            body = rest;
            if result.is_empty() {
                continue;
            }
            // SAFETY: who requested it promised that there is room for the result until the counter
            // says that it is complete.
            unsafe {
                let to = expected.pending.result;
                to.copy_from_nonoverlapping(result.as_ptr(), result.len());
            }
        }
        sent.expected.iter().for_each(Expected::complete);
        Ok(())
    }

    /// The PE's request message of this number has been executed, with these results behind room for a
    /// header. `records`: it was of records alone.
    pub(super) fn reply(&mut self, limits: Limits, sequence: u32, results: Vec<u8>, records: bool) {
        self.executed = sequence;
        if results.len() > HEADER {
            self.replies.push_back((sequence, results));
        } else if records && self.deferred + 1 < limits.together() {
            self.deferred += 1;
        } else {
            self.owes = true;
        }
    }

    /// Whether an acknowledgement waits for an answer.
    pub(super) fn is_deferred(&self) -> bool {
        self.deferred > 0
    }

    /// It waits no longer.
    pub(super) fn acknowledge_deferred(&mut self) {
        self.owes |= std::mem::take(&mut self.deferred) > 0;
    }

    /// As [`reply`](Self::reply), where the PE learns of it by the slot.
    pub(super) fn replied_by_slot(&mut self, sequence: u32) {
        self.executed = sequence;
    }

    pub(super) fn grant(&mut self, slot: u16) {
        if let Some(slot) = slot.checked_sub(1) {
            self.slot = Some(slot.into());
        }
    }

    /// The PE's slot, and the tag and number of a request that may be written to it: while nothing else
    /// is under way.
    pub(super) fn free_slot(&self) -> Option<(usize, u32, u32)> {
        let is_idle = !self.slot_busy && self.open.is_empty() && self.outstanding() == 0;
        let slot = self.slot.filter(|_| is_idle && self.sent.is_empty())?;
        Some((slot, self.slot_tag.wrapping_add(1), self.next))
    }

    /// The request has been written.
    pub(super) fn take_slot(&mut self, tag: u32) {
        self.slot_tag = tag;
        self.slot_busy = true;
        self.records = 0;
        self.next = self.next.wrapping_add(1);
    }

    /// The reply to the request in the slot is there.
    pub(super) fn free(&mut self) {
        self.slot_busy = false;
    }
}

impl Expected {
    fn complete(&self) {
        // SAFETY: it began when this was made, and ends once.
        unsafe { self.pending.counter.end() };
    }
}

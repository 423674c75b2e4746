//! Sending requests, and executing those of peers.

use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock};

use ferroshmem_platform::prefetch_for_write;

use super::channel::{Channel, Incoming, Limits, MessageItem, Outgoing, PendingResult};
use super::fault::{Fault, Reason};
use super::gather::Registered;
use super::network::Network;
use super::slots::Slots;
use crate::batches::Registry;
use crate::completion::PeerCounters;
use crate::encoding::batch::System;
use crate::encoding::message::{HEADER, Header, Kind, LONG, LONGEST};
use crate::encoding::request::{Item, Reply, Request, SegmentAddress, Short, store};
use crate::lock::lock;

/// Memory, in bytes, that messages under way to one PE, or from it, may take altogether.
const BUDGET: usize = 8 << 20;
/// Request messages under way from a PE to another, at most.
const WINDOW: usize = 16;
/// Request messages under way to a PE, at most, when one is sent that has room left: the longer it takes
/// until they are acknowledged, the more requests go together.
pub(super) const PARTIAL: u32 = 4;

/// Which messages a flush sends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flush {
    /// All.
    All,
    /// All but acknowledgements that may go with an answer.
    Prompt,
    /// Results and acknowledgements; requests are gathered.
    Replies,
}

/// When a request is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// With what follows it at once.
    BatchItem,
    /// At once, if no other is under way and few came before.
    Usual,
    /// At once.
    Now,
}

/// What a PE has under way to all others.
pub(crate) struct ActiveMessages {
    me: usize,
    pub(super) limits: Limits,
    channels: Box<[OnceLock<Box<Channel>>]>,
    pub slots: Slots,
    /// PEs to which something is to be sent.
    unsent: Mutex<Vec<usize>>,
    n_unsent: AtomicUsize,
    /// PEs to which an acknowledgement is to be sent, if no answer goes to them.
    late: Mutex<Vec<usize>>,
    n_late: AtomicUsize,
    /// The contexts that gather in batches of their own, and how often the progress thread has seen nothing to send.
    pub(super) registry: Registry<System, Registered>,
}

impl Limits {
    /// Bytes for each of so many PEs: whole words, as items have.
    fn each(n_pes: usize) -> usize {
        const WORD: usize = size_of::<u64>();
        BUDGET / n_pes.max(1) / WORD * WORD
    }

    /// Those of a job: less for each PE, the more there are.
    pub(crate) fn new(n_pes: usize) -> Limits {
        let each = Limits::each(n_pes);
        Limits {
            window: (each / LONGEST).clamp(1, WINDOW) as u32,
            capacity: each.clamp(1 << 10, LONGEST),
            record: each.clamp(1 << 10, LONGEST),
        }
    }

    /// These, with long records in messages of their own.
    pub(crate) fn with_long_records(self, n_pes: usize) -> Limits {
        let each = Limits::each(n_pes);
        Limits { record: each.min(LONG).max(self.record), ..self }
    }
}

impl ActiveMessages {
    pub(crate) fn new(me: usize, n_pes: usize, limits: Limits) -> ActiveMessages {
        ActiveMessages {
            me,
            limits,
            channels: (0..n_pes).map(|_| OnceLock::new()).collect(),
            slots: Slots::new(n_pes),
            unsent: Mutex::default(),
            n_unsent: AtomicUsize::new(0),
            late: Mutex::default(),
            n_late: AtomicUsize::new(0),
            registry: Registry::default(),
        }
    }

    pub(super) fn n_pes(&self) -> usize {
        self.channels.len()
    }

    pub(super) fn channel(&self, pe: usize) -> Result<&Channel, Fault> {
        let place = self.channels.get(pe).ok_or(Fault { pe: None, reason: Reason::Malformed })?;
        Ok(place.get_or_init(Box::default))
    }

    /// Appends to what goes to the PE; the counter begins. False: the message that is being filled is full,
    /// and has been sent if there is room: poll, and try again.
    #[inline(never)]
    pub(crate) fn append(
        &self,
        network: &impl Network,
        pe: usize,
        (item, place): (MessageItem<'_>, SegmentAddress),
        awaited: PendingResult,
        urgency: Urgency,
    ) -> Result<bool, Fault> {
        let mut outgoing = self.channel(pe)?.outgoing();
        let is_appended = outgoing.append(self.limits, item, place, awaited);
        let is_sent = match urgency {
            Urgency::BatchItem => false,
            Urgency::Usual => outgoing.is_idle(self.registry.idle_period()),
            Urgency::Now => true,
        };
        if is_sent || !is_appended {
            self.send(network, pe, &mut outgoing, self.limits.window)?;
        }
        if !is_appended && outgoing.outstanding() >= self.limits.window {
            outgoing.refuse(network, pe).map_err(|reason| reason.of(pe))?;
        }
        self.list(pe, &mut outgoing);
        if !is_sent && urgency == Urgency::Usual && outgoing.is_quiet() {
            // The progress thread sees what is listed, or this thread sees that it has gone to sleep.
            if outgoing.is_idle(self.registry.idle_period_after_listing()) {
                self.send(network, pe, &mut outgoing, self.limits.window)?;
            }
        }
        Ok(is_appended)
    }

    /// Adds an item without a result to a message that is being filled, if it has items that the same counters
    /// count; what waits for nothing else takes this way alone.
    #[inline]
    pub(crate) fn append_to_open(&self, pe: usize, item: Short, peer: &PeerCounters) -> bool {
        let channel = self.channels.get(pe).and_then(OnceLock::get);
        channel.is_some_and(|channel| {
            let now = (self.limits.capacity, self.registry.idle_period());
            channel.outgoing().append_to_open(now, item, peer)
        })
    }

    /// The longest put that a message has room for.
    pub(crate) fn longest_put(&self) -> usize {
        self.limits.capacity - HEADER - size_of::<u64>()
    }

    /// The longest record.
    pub(crate) fn longest_record(&self) -> usize {
        self.limits.record - HEADER - size_of::<u64>()
    }

    pub(super) fn send(
        &self,
        network: &impl Network,
        pe: usize,
        outgoing: &mut Outgoing,
        window: u32,
    ) -> Result<bool, Fault> {
        outgoing.send(network, (self.me, pe), (window, self.registry.idle_period())).map_err(|reason| reason.of(pe))
    }

    /// What is pending for the PE is sent at the next flush.
    pub(super) fn list(&self, pe: usize, outgoing: &mut Outgoing) {
        if outgoing.is_deferred() && !outgoing.listed_late {
            outgoing.listed_late = true;
            let mut late = lock(&self.late);
            late.push(pe);
            self.n_late.store(late.len(), Release);
        }
        if outgoing.is_pending() && !outgoing.listed {
            outgoing.listed = true;
            let mut unsent = lock(&self.unsent);
            unsent.push(pe);
            self.n_unsent.store(unsent.len(), Release);
        }
    }

    /// Whether there is something that the next flush may send.
    pub(crate) fn has_unsent(&self) -> bool {
        self.n_unsent.load(Acquire) != 0
    }

    /// Whether an acknowledgement waits for an answer.
    pub(crate) fn has_deferred(&self) -> bool {
        self.n_late.load(Acquire) != 0
    }

    /// Whether the progress thread may sleep for long, since nothing is to be sent: the first request after this is
    /// sent at once.
    pub(crate) fn may_rest(&self) -> bool {
        let has_gathered = ActiveMessages::has_gathered;
        !self.has_deferred() && self.registry.may_rest(|| self.has_unsent(), has_gathered)
    }

    /// Sends what is pending, to all PEs, as far as there is room.
    #[inline]
    pub(crate) fn flush(&self, network: &impl Network, flush: Flush) -> Result<(), Fault> {
        if flush == Flush::All && self.has_deferred() {
            self.end_deferral();
        }
        if self.has_unsent() {
            self.flush_all(network, flush)?;
        }
        Ok(())
    }

    /// Acknowledgements that wait for an answer are sent at this flush.
    #[cold]
    fn end_deferral(&self) {
        let all = {
            let mut late = lock(&self.late);
            self.n_late.store(0, Release);
            std::mem::take(&mut *late)
        };
        for pe in all {
            if let Some(channel) = self.channels.get(pe).and_then(OnceLock::get) {
                let mut outgoing = channel.outgoing();
                outgoing.listed_late = false;
                outgoing.acknowledge_deferred();
                self.list(pe, &mut outgoing);
            }
        }
    }

    #[cold]
    fn flush_all(&self, network: &impl Network, flush: Flush) -> Result<(), Fault> {
        let window = match flush {
            Flush::All | Flush::Prompt => self.limits.window.min(PARTIAL),
            Flush::Replies => 0,
        };
        let all = {
            let mut unsent = lock(&self.unsent);
            self.n_unsent.store(0, Release);
            std::mem::take(&mut *unsent)
        };
        for pe in all {
            let mut outgoing = self.channel(pe)?.outgoing();
            outgoing.listed = false;
            // What waits for the window is listed again by the acknowledgement.
            if !self.send(network, pe, &mut outgoing, window)? || flush == Flush::Replies {
                self.list(pe, &mut outgoing);
            }
        }
        Ok(())
    }

    /// Writes a request into the slot of a PE to which nothing else is under way; returns the tag of the reply
    /// and the request's number. None: it must go by a message.
    pub(crate) fn request_by_slot(
        &self,
        network: &impl Network,
        pe: usize,
        (request, place): (Request, SegmentAddress),
    ) -> Result<Option<(u32, u32)>, Fault> {
        let mut outgoing = self.channel(pe)?.outgoing();
        let Some((slot, tag, sequence)) = outgoing.free_slot() else {
            return Ok(None);
        };
        let message = crate::TaggedMessage::new(tag, &request.to_frame(place, sequence));
        let written = network.write(pe, slot, &message, true);
        if !written.map_err(|reason| reason.of(pe))? {
            return Ok(None);
        }
        network.count_sent(pe);
        outgoing.take_slot(tag);
        Ok(Some((tag, sequence)))
    }

    /// The reply to a request in the slot has been read.
    pub(crate) fn replied(&self, network: &impl Network, pe: usize, sequence: u32) -> Result<(), Fault> {
        let mut outgoing = self.channel(pe)?.outgoing();
        outgoing.free();
        let done = outgoing.acknowledge(network, pe, sequence);
        done.map_err(|reason| reason.of(pe))?;
        self.list(pe, &mut outgoing);
        Ok(())
    }

    /// A PE is lost: requests under way to it count as executed.
    pub(crate) fn lose(&self, pe: usize) {
        if let Ok(channel) = self.channel(pe) {
            channel.outgoing().lose();
        }
    }

    /// A message has arrived.
    pub(crate) fn receive(&self, network: &impl Network, message: &[u8]) -> Result<(), Fault> {
        let (header, kind, body) = Header::split(message).ok_or(Fault { pe: None, reason: Reason::Malformed })?;
        let pe = header.source as usize;
        let channel = self.channel(pe)?;
        {
            let mut outgoing = channel.outgoing();
            if outgoing.is_lost {
                return Ok(());
            }
            outgoing.grant(header.slot);
            let mut taken = outgoing.acknowledge(network, pe, header.executed);
            if kind == Kind::Results && taken.is_ok() {
                taken = outgoing.results(header.sequence, body);
            }
            taken.map_err(|reason| reason.of(pe))?;
            self.list(pe, &mut outgoing);
        }
        if kind != Kind::Requests {
            return Ok(());
        }
        let mut incoming = lock(&channel.incoming);
        if !incoming.is_known {
            incoming.is_known = true;
            channel.outgoing().granted = self.slots.grant(pe);
        }
        let ahead = header.sequence.wrapping_sub(incoming.next);
        let executed = if ahead == 0 {
            self.execute(network, pe, channel, &mut incoming, body)
        } else if ahead <= self.limits.window {
            incoming.early.push((header.sequence, body.to_vec()));
            Ok(())
        } else {
            Err(Reason::Malformed)
        };
        executed.map_err(|reason| reason.of(pe))
    }

    /// Executes the next request message of a PE, and those that came early and follow it.
    fn execute(
        &self,
        network: &impl Network,
        pe: usize,
        channel: &Channel,
        incoming: &mut MutexGuard<'_, Incoming>,
        body: &[u8],
    ) -> Result<(), Reason> {
        self.execute_one(network, pe, channel, incoming, body)?;
        self.execute_early(network, pe, channel, incoming)
    }

    fn execute_early(
        &self,
        network: &impl Network,
        pe: usize,
        channel: &Channel,
        incoming: &mut MutexGuard<'_, Incoming>,
    ) -> Result<(), Reason> {
        let next = |incoming: &Incoming| {
            let mut early = incoming.early.iter();
            early.position(|(sequence, _)| *sequence == incoming.next)
        };
        while let Some(at) = next(incoming) {
            let (_, body) = incoming.early.swap_remove(at);
            self.execute_one(network, pe, channel, incoming, &body)?;
        }
        Ok(())
    }

    fn execute_one(
        &self,
        network: &impl Network,
        pe: usize,
        channel: &Channel,
        incoming: &mut Incoming,
        mut body: &[u8],
    ) -> Result<(), Reason> {
        let mut results = vec![0; HEADER];
        let mut records = true;
        while !body.is_empty() {
            // An atomic operation waits for its line, and the next one for it.
            if let Some((segment, offset)) = Item::ahead(body)
                && let Some(at) = network.address(segment, offset, 1)
            {
                prefetch_for_write(at);
            }
            let (item, place) = Item::take(&mut body).ok_or(Reason::Malformed)?;
            if let Item::Record(record) = item {
                if !network.deliver(pe, record) {
                    return Err(Reason::Malformed);
                }
                continue;
            }
            records = false;
            let at = address(network, place, item.len())?;
            match item {
                Item::Record(_) => {}
                // SAFETY: `address` found as much memory in a segment.
                Item::Put(data) => unsafe { store(at, data) },
                Item::Request(request) => {
                    // SAFETY: as above; segments begin at pages, and items are refused whose words are not
                    // aligned.
                    let reply = unsafe { request.execute(at) };
                    results.extend_from_slice(&reply[..request.result_len()]);
                    if results.len() > LONGEST {
                        return Err(Reason::Malformed);
                    }
                }
            }
        }
        let sequence = incoming.next;
        incoming.next = sequence.wrapping_add(1);
        let mut outgoing = channel.outgoing();
        outgoing.reply(self.limits, sequence, results, records);
        self.list(pe, &mut outgoing);
        Ok(())
    }

    /// Executes the requests in slots, and replies; returns how many.
    #[inline]
    pub(crate) fn serve_slots(&self, network: &impl Network) -> Result<usize, Fault> {
        self.slots.serve(network, self.me, |pe, frame| {
            let channel = self.channel(pe)?;
            self.execute_slot(network, pe, channel, frame).map_err(|reason| reason.of(pe))
        })
    }

    fn execute_slot(
        &self,
        network: &impl Network,
        pe: usize,
        channel: &Channel,
        frame: Reply,
    ) -> Result<Reply, Reason> {
        let mut incoming = lock(&channel.incoming);
        let sequence = incoming.next;
        if Request::sequence(frame) != sequence {
            // Nothing else was under way when it was written.
            return Err(Reason::Malformed);
        }
        let (request, place) = Request::from_frame(frame).ok_or(Reason::Malformed)?;
        let at = address(network, place, request.len())?;
        // SAFETY: as in `execute_one`.
        let reply = unsafe { request.execute(at) };
        incoming.next = sequence.wrapping_add(1);
        channel.outgoing().replied_by_slot(sequence);
        self.execute_early(network, pe, channel, &mut incoming)?;
        Ok(reply)
    }
}

/// Where memory is that a request is about.
#[inline]
fn address(network: &impl Network, (segment, offset): SegmentAddress, len: usize) -> Result<*mut u8, Reason> {
    let at = network.address(segment, offset, len);
    at.ok_or(Reason::NotShared)
}

//! Gathering items in batches of a context's own, and handing these over to the messages of all.

use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::channel::PendingResult;
use super::fault::Fault;
use super::messages::{ActiveMessages, PARTIAL, Urgency};
use super::network::Network;
use crate::batches::Batch as _;
use crate::completion::{CompletionCounter, ContextCounters, PeerCounters};
use crate::encoding::batch::{Batch, BatchItem, ContextBatches};
use crate::encoding::message::HEADER;
use crate::encoding::request::{SegmentAddress, Short};

/// A context that has batches.
pub(super) struct Registered {
    /// There while a batch has items, as these are counted.
    context: NonNull<ContextCounters>,
    batches: Arc<ContextBatches>,
}

// SAFETY: the counters are atomics.
unsafe impl Send for Registered {}

impl Registered {
    /// Whether the context is gone, and all that it gathered.
    fn is_gone(&self) -> bool {
        Arc::strong_count(&self.batches) == 1 && !self.batches.has_filled()
    }
}

/// Whether nothing of the context is under way to the PE but what it is gathering, or counted for that.
#[inline]
fn is_alone(peer: &PeerCounters) -> bool {
    peer.others() <= 1
}

impl ActiveMessages {
    /// The batches of a context that is to have its own.
    #[inline]
    pub(crate) fn batches<'c>(&self, context: &'c ContextCounters) -> &'c ContextBatches {
        context.batches().unwrap_or_else(|| self.register(context))
    }

    #[cold]
    fn register<'c>(&self, context: &'c ContextCounters) -> &'c ContextBatches {
        context.batches_or(|| {
            let batches = Arc::new(ContextBatches::new(self.n_pes()));
            let registered = Registered { context: context.into(), batches: batches.clone() };
            self.registry.register(registered, Registered::is_gone);
            batches
        })
    }

    /// Bytes of items that a batch has room for: as many as a message.
    #[inline]
    fn room(&self) -> usize {
        self.limits.capacity - HEADER
    }

    /// Gathers an item of a context for a PE. False: the batch is full, and no message has room for it: poll, and try
    /// again.
    pub(crate) fn gather(
        &self,
        network: &impl Network,
        pe: usize,
        (item, place): (BatchItem<'_>, SegmentAddress),
        (context, peer): (&ContextCounters, &PeerCounters),
        urgency: Urgency,
    ) -> Result<bool, Fault> {
        let batches = self.batches(context);
        let room = self.room();
        let counter = CompletionCounter::context(context, peer, false);
        let gathered = batches.with(pe, |batch| {
            let mut was_empty = batch.is_empty();
            if !batch.append(item, place, room) {
                if !self.hand_over_batch(network, pe, batch, counter, None)? {
                    return Ok(None);
                }
                was_empty = true;
                batch.append(item, place, room);
            }
            if was_empty {
                counter.begin();
            }
            let is_sent = match urgency {
                Urgency::BatchItem => false,
                Urgency::Usual => batch.is_urgent(self.registry.idle_period()) && is_alone(peer),
                Urgency::Now => true,
            };
            if is_sent {
                self.hand_over_batch(network, pe, batch, counter, None)?;
            }
            Ok(Some(is_sent))
        })?;
        if gathered == Some(false) && urgency == Urgency::Usual && is_alone(peer) {
            let idle_period = self.registry.idle_period_after_listing();
            let is_urgent = batches.with_filled(pe, |batch| batch.is_urgent(idle_period));
            if is_urgent == Some(true) {
                self.hand_over(network, pe, context)?;
            }
        }
        Ok(gathered.is_some())
    }

    /// Adds an item to a batch that has some, if that is all that is to be done.
    #[inline]
    pub(crate) fn gather_to_open(
        &self,
        pe: usize,
        item: Short,
        (batches, peer): (&ContextBatches, &PeerCounters),
    ) -> bool {
        let added = batches.with_filled(pe, |batch| {
            let is_sent = batch.is_urgent(self.registry.idle_period()) && is_alone(peer);
            !is_sent && batch.append_short(item, self.room())
        });
        added == Some(true)
    }

    /// Hands over what a context has gathered for a PE: what it requests next comes behind. False: there is no room:
    /// poll, and try again.
    pub(crate) fn hand_over(
        &self,
        network: &impl Network,
        pe: usize,
        context: &ContextCounters,
    ) -> Result<bool, Fault> {
        let Some((batches, peer)) = context.batches().zip(context.existing(pe)) else {
            return Ok(true);
        };
        let counter = CompletionCounter::context(context, peer, false);
        let handed_over = batches.with_filled(pe, |batch| self.hand_over_batch(network, pe, batch, counter, None));
        handed_over.unwrap_or(Ok(true))
    }

    /// Hands over what a context has gathered for all PEs, as far as there is room.
    pub(crate) fn hand_over_context(&self, network: &impl Network, context: &ContextCounters) -> Result<(), Fault> {
        match context.batches() {
            // SAFETY: the caller has the context.
            Some(batches) => unsafe { self.hand_over_filled(network, batches, context.into()) },
            None => Ok(()),
        }
    }

    /// Hands over what all contexts have gathered, as far as there is room: for threads that idle.
    pub(crate) fn hand_over_all(&self, network: &impl Network) -> Result<(), Fault> {
        self.registry.each(|Registered { context, batches }| {
            // SAFETY: a context's counters are there while a batch has items.
            unsafe { self.hand_over_filled(network, batches, *context) }
        })
    }

    /// # Safety
    /// The counters are there while a batch has items.
    unsafe fn hand_over_filled(
        &self,
        network: &impl Network,
        batches: &ContextBatches,
        context: NonNull<ContextCounters>,
    ) -> Result<(), Fault> {
        // The longer it takes until a message is sent, the more goes in it.
        let window = self.limits.window.min(PARTIAL);
        batches.hand_over_filled(|pe, batch| {
            // SAFETY: this batch has items, so the caller promises that the counters are there.
            let context = unsafe { context.as_ref() };
            let counter = CompletionCounter::context(context, context.peer(pe, self.n_pes()), false);
            self.hand_over_batch(network, pe, batch, counter, Some(window))
        })
    }

    /// Appends a batch to the message that is filled for the PE, and sends that if there is room. False: there is none,
    /// or at least `most` messages are under way, so that the batch can be filled further.
    #[inline(never)] // once for all ways
    fn hand_over_batch(
        &self,
        network: &impl Network,
        pe: usize,
        batch: &mut Batch,
        counter: CompletionCounter,
        most: Option<u32>,
    ) -> Result<bool, Fault> {
        let awaited = PendingResult { counter, result: ptr::null_mut() };
        let mut outgoing = self.channel(pe)?.outgoing();
        if most.is_some_and(|most| outgoing.outstanding() >= most) {
            return Ok(false);
        }
        let window = self.limits.window;
        let mut is_appended = outgoing.append_items(self.limits, batch.items(), awaited);
        if !is_appended {
            self.send(network, pe, &mut outgoing, window)?;
            is_appended = outgoing.append_items(self.limits, batch.items(), awaited);
        }
        if is_appended {
            batch.clear(self.room(), self.registry.idle_period());
            self.send(network, pe, &mut outgoing, window)?;
        } else if outgoing.outstanding() >= self.limits.window {
            outgoing.refuse(network, pe).map_err(|reason| reason.of(pe))?;
        }
        self.list(pe, &mut outgoing);
        Ok(is_appended)
    }

    /// Whether a context has gathered something.
    pub(super) fn has_gathered(Registered { batches, .. }: &Registered) -> bool {
        batches.has_filled()
    }
}

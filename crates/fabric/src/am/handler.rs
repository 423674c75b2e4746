//! Serving the requests of peers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::{Mutex, MutexGuard};

use super::request::{Reply, Request};
use crate::address::Peer;
use crate::completion::Shared;
use crate::endpoint::{Endpoint, Injected};
use crate::memory::{Location, Region};
use crate::{Config, Error, TaggedMessage, libfabric};

/// PEs of a job at most: each poll looks at the slots of all.
const PES: usize = 64;

/// Where a peer writes messages, each over the one before.
#[repr(C, align(64))]
#[derive(Default)]
struct MessageSlot([AtomicU64; TaggedMessage::WORDS]);

/// The slots of this PE, and what executes the requests in them.
pub(crate) struct Handler {
    /// Dropped before the memory.
    region: Region,
    /// What peers call the first slot.
    base: u64,
    /// A request slot for each PE, then a reply slot for each.
    slots: Box<[MessageSlot]>,
    me: usize,
    serving: Mutex<Serving>,
    /// A thread wanted to serve while another one did.
    again: AtomicBool,
}

/// What has been served.
struct Serving {
    /// The sequence number of the last request of each PE.
    last: Box<[u32]>,
    /// Replies for which there was no room.
    unsent: Vec<(usize, TaggedMessage)>,
}

/// A request that cannot be served: by which PE, and why.
type Fault = (usize, String);

impl Handler {
    /// None: the provider's own operations are better, or there are too many PEs.
    pub(crate) fn open(
        endpoint: &Endpoint,
        config: &Config,
        inject: usize,
    ) -> Result<Option<Handler>, Error> {
        let n = config.n_pes;
        let by_software = endpoint.info.provider() == "tcp;ofi_rxm" && !endpoint.pins;
        if !by_software || inject < size_of::<MessageSlot>() || n > PES || config.pe >= n {
            return Ok(None);
        }
        let slots: Box<[MessageSlot]> = (0..2 * n).map(|_| MessageSlot::default()).collect();
        let base = slots.as_ptr().cast();
        let len = size_of_val(&*slots);
        // SAFETY: the slots live until the region is gone.
        let region = unsafe { Region::for_peers(endpoint, base, len, true, &|_| false)? };
        Ok(Some(Handler {
            region,
            base: endpoint.address_of(base),
            slots,
            me: config.pe,
            serving: Mutex::new(Serving {
                last: vec![0; n].into(),
                unsent: Vec::new(),
            }),
            again: AtomicBool::new(false),
        }))
    }

    /// Where peers find the slots.
    pub(crate) fn location(&self) -> Location {
        Location {
            address: self.base,
            key: self.region.key(),
        }
    }

    fn n(&self) -> usize {
        self.slots.len() / 2
    }

    /// The reply of a PE to request `sequence` of this one, if it has arrived.
    #[inline]
    pub(super) fn reply(&self, pe: usize, sequence: u32) -> Option<Reply> {
        self.slots[self.n() + pe].message(sequence)
    }

    /// Writes a request of this PE to `pe`; returns libfabric's result.
    pub(super) fn send_request(
        &self,
        endpoint: &Endpoint,
        (pe, peer): (usize, &Peer),
        slots: Location,
        message: &TaggedMessage,
    ) -> isize {
        let injected = Injected { pe, awaited: true };
        write(endpoint, peer, injected, slots.slot(self.me), message)
    }

    /// Executes the requests that have arrived; returns how many replies were sent or are to be.
    pub(crate) fn serve(&self, shared: &Shared) -> usize {
        let mut total = 0;
        while let Some(mut serving) = self.serving() {
            let result = self.serve_all(shared, &mut serving);
            drop(serving);
            match result {
                Ok(n) => total += n,
                // Without the lock: the owner may put to other PEs before it ends the process.
                Err((pe, reason)) => shared.peer_failed(pe, &reason),
            }
            if !self.again.load(SeqCst) {
                break;
            }
        }
        total
    }

    /// The right to serve, if no other thread has it. That thread may have passed the slot that has
    /// just been written: then it is asked to look again.
    fn serving(&self) -> Option<MutexGuard<'_, Serving>> {
        let serving = self.serving.try_lock().ok().or_else(|| {
            self.again.store(true, SeqCst);
            // The other thread may have ended before it could see the request to look again.
            self.serving.try_lock().ok()
        })?;
        self.again.swap(false, SeqCst);
        Some(serving)
    }

    fn serve_all(&self, shared: &Shared, serving: &mut Serving) -> Result<usize, Fault> {
        let mut n = 0;
        for (pe, message) in std::mem::take(&mut serving.unsent) {
            self.send_reply(shared, serving, pe, message)?;
        }
        for pe in 0..self.n() {
            let sequence = serving.last[pe].wrapping_add(1);
            let Some(frame) = self.slots[pe].message(sequence) else {
                continue;
            };
            serving.last[pe] = sequence;
            let reply = execute(shared, frame).ok_or_else(|| {
                let reason = "it requests memory that this PE does not share";
                (pe, reason.to_owned())
            })?;
            let message = TaggedMessage::new(sequence, &reply);
            self.send_reply(shared, serving, pe, message)?;
            n += 1;
        }
        // A reply that could not be sent is a reason not to sleep.
        Ok(n + serving.unsent.len())
    }

    fn send_reply(
        &self,
        shared: &Shared,
        serving: &mut Serving,
        pe: usize,
        message: TaggedMessage,
    ) -> Result<(), Fault> {
        let peer = shared.peers.get(pe);
        let Some((peer, slots)) = peer.and_then(|peer| Some((peer, peer.message_slots?))) else {
            return Err((pe, "it sends requests, but has no slot for replies".into()));
        };
        let reply_slot = slots.slot(self.n() + self.me);
        let injected = Injected { pe, awaited: false };
        match write(&shared.endpoint, peer, injected, reply_slot, &message) {
            0 => {}
            result if result == -(libfabric::FI_EAGAIN as isize) => {
                serving.unsent.push((pe, message));
            }
            result => return Err((pe, shared.endpoint.library.strerror(result))),
        }
        Ok(())
    }
}

impl MessageSlot {
    /// The value of message `sequence`, if it has arrived.
    #[inline]
    fn message(&self, sequence: u32) -> Option<Reply> {
        TaggedMessage::has_arrived(&self.0, sequence, TaggedMessage::BYTES)
            .then(|| TaggedMessage::value(&self.0))
    }
}

fn execute(shared: &Shared, frame: Reply) -> Option<Reply> {
    let (request, segment, offset) = Request::from_frame(frame)?;
    let at = shared.segments.address(segment, offset, request.len())?;
    // SAFETY: `address` found the memory in a segment; callers request aligned words only.
    Some(unsafe { request.execute(at) })
}

impl Location {
    /// Where slot `index` of the slots here is.
    fn slot(self, index: usize) -> Self {
        Self {
            address: self.address + (index * size_of::<MessageSlot>()) as u64,
            ..self
        }
    }
}

/// Writes a message into a slot of a peer; returns libfabric's result.
fn write(
    endpoint: &Endpoint,
    peer: &Peer,
    injected: Injected,
    slot: Location,
    message: &TaggedMessage,
) -> isize {
    let words = message.words();
    let to = libfabric::fi_rma_iov {
        addr: slot.address,
        len: size_of_val(words),
        key: slot.key,
    };
    // SAFETY: `words` has as many bytes, and may be changed once the call has returned.
    unsafe { endpoint.inject(peer.address, injected, to, words.as_ptr().cast()) }
}

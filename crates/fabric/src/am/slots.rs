//! Slots: memory that peers write single requests and replies to.
//!
//! Over TCP a message there and back takes 22 us, where a write there and a write back that nothing
//! acknowledges take 14 (the `direct` benchmark). So a request that a thread waits for, while nothing
//! else is under way to that PE, is written into a slot of the target, and its reply into one of the
//! caller. Every poll looks at all request slots, so a PE grants them to few peers: to those that
//! send it messages first.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard};

use super::fault::{Fault, Reason};
use super::network::Network;
use crate::TaggedMessage;
use crate::encoding::request::Reply;
use crate::lock::lock;

/// Peers that may write requests.
const GRANTED: usize = 64;

/// Where a peer writes messages, each over the one before.
#[repr(C, align(64))]
#[derive(Default)]
struct Slot([AtomicU64; TaggedMessage::WORDS]);

/// A request slot for each peer that has been granted one, then a reply slot for each PE.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    /// The PEs that were granted slots, and how many they are.
    peers: Mutex<Vec<usize>>,
    n_peers: AtomicUsize,
    serving: Mutex<Serving>,
    /// A thread wanted to serve while another one did.
    again: AtomicBool,
}

/// What has been served.
#[derive(Default)]
struct Serving {
    /// The PE of each slot, and the tag of its last request.
    granted: Vec<(usize, u32)>,
    /// Replies for which there was no room.
    unsent: Vec<(usize, TaggedMessage)>,
}

/// Bytes from the first slot to another.
pub(super) fn offset(slot: usize) -> u64 {
    (slot * size_of::<Slot>()) as u64
}

/// The slot for replies of a PE.
fn reply_slot(pe: usize) -> usize {
    GRANTED + pe
}

impl Slots {
    pub(super) fn new(n_pes: usize) -> Slots {
        Slots {
            slots: (0..reply_slot(n_pes)).map(|_| Slot::default()).collect(),
            peers: Mutex::default(),
            n_peers: AtomicUsize::new(0),
            serving: Mutex::default(),
            again: AtomicBool::new(false),
        }
    }

    /// The memory that peers write.
    pub(crate) fn memory(&self) -> (*const u8, usize) {
        (self.slots.as_ptr().cast(), size_of_val(&*self.slots))
    }

    /// Grants a slot to a peer that has none: returns one more than its number, or 0.
    pub(super) fn grant(&self, pe: usize) -> u16 {
        let mut peers = lock(&self.peers);
        if peers.len() == GRANTED {
            return 0;
        }
        peers.push(pe);
        self.n_peers.store(peers.len(), Release);
        peers.len() as u16
    }

    /// The reply of a PE to the request of this tag, if it has arrived.
    #[inline]
    pub(crate) fn reply(&self, pe: usize, tag: u32) -> Option<Reply> {
        self.slots[reply_slot(pe)].message(tag)
    }

    /// Executes the requests that have arrived, by `execute`; returns how many replies were sent or are to be.
    pub(super) fn serve(
        &self,
        network: &impl Network,
        me: usize,
        mut execute: impl FnMut(usize, Reply) -> Result<Reply, Fault>,
    ) -> Result<usize, Fault> {
        let mut total = 0;
        while let Some(mut serving) = self.serving() {
            total += self.serve_all(network, me, &mut serving, &mut execute)?;
            drop(serving);
            if !self.again.load(SeqCst) {
                break;
            }
        }
        Ok(total)
    }

    /// The right to serve, if no other thread has it. That thread may have passed the slot that has
    /// just been written: then it is asked to look again.
    fn serving(&self) -> Option<MutexGuard<'_, Serving>> {
        let serving = self.serving.try_lock().ok().or_else(|| {
            // A store would not be ordered before the look at the lock. The other thread may have ended before it
            // could see the request to look again.
            self.again.swap(true, SeqCst);
            self.serving.try_lock().ok()
        })?;
        self.again.swap(false, SeqCst);
        Some(serving)
    }

    fn serve_all(
        &self,
        network: &impl Network,
        me: usize,
        serving: &mut Serving,
        execute: &mut impl FnMut(usize, Reply) -> Result<Reply, Fault>,
    ) -> Result<usize, Fault> {
        let mut n = 0;
        let Serving { granted, unsent } = serving;
        if granted.len() != self.n_peers.load(Acquire) {
            let new = lock(&self.peers);
            granted.extend(new[granted.len()..].iter().map(|pe| (*pe, 0)));
        }
        let send = |pe, message: TaggedMessage, unsent: &mut Vec<_>| {
            let sent = network.write(pe, reply_slot(me), &message, false);
            if !sent.map_err(|reason: Reason| reason.of(pe))? {
                unsent.push((pe, message));
            }
            Ok(())
        };
        for (pe, message) in std::mem::take(unsent) {
            send(pe, message, unsent)?;
        }
        for (slot, (pe, last)) in self.slots.iter().zip(granted) {
            let tag = last.wrapping_add(1);
            let Some(frame) = slot.message(tag) else {
                continue;
            };
            *last = tag;
            let reply = execute(*pe, frame)?;
            send(*pe, TaggedMessage::new(tag, &reply), unsent)?;
            n += 1;
        }
        // A reply that could not be sent is a reason not to sleep.
        Ok(n + unsent.len())
    }
}

impl Slot {
    /// The value of the message with this tag, if it has arrived.
    #[inline]
    fn message(&self, tag: u32) -> Option<Reply> {
        TaggedMessage::has_arrived(&self.0, tag, TaggedMessage::BYTES).then(|| TaggedMessage::value(&self.0))
    }
}

//! What active messages need of the network: libfabric, or in tests a model of it.

use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use super::buffers::SendBuffers;
use super::fault::Reason;
use crate::TaggedMessage;
use crate::completion::Shared;
use crate::endpoint::Injected;
use crate::libfabric;

/// The way to the peers, and the memory that their requests are about.
pub(crate) trait Network {
    /// Sends a message; messages to a peer arrive in the order in which they were sent. `awaited`: a thread waits for
    /// what the peer does next. True: the vector has any content and capacity then, as the message is sent from its
    /// memory. False: there is no room at present, and the message is as it was. To a peer that is not well, nothing is
    /// sent.
    fn send(&self, pe: usize, message: &mut Vec<u8>, awaited: bool) -> Result<bool, Reason>;
    /// Writes a message into a slot of the peer; otherwise as `send`.
    fn write(&self, pe: usize, slot: usize, message: &TaggedMessage, awaited: bool) -> Result<bool, Reason>;
    /// The address of memory of this PE that peers may reach.
    fn address(&self, segment: usize, offset: usize, len: usize) -> Option<*mut u8>;
    /// Gives a record to the owner; false: it is none.
    fn deliver(&self, pe: usize, record: &[u8]) -> bool;
    /// A request message to the peer has been sent.
    fn count_sent(&self, pe: usize);
    /// So many of them have been executed.
    fn count_completed(&self, pe: usize, n: u32);
    /// Operations of any kind to the peer that have completed, modulo 2^32.
    fn completed(&self, pe: usize) -> u32;
    /// Whether a peer has failed to which there is no room since, and from which nothing has come.
    fn has_failed(&self, pe: usize, since: Instant) -> bool;
}

/// libfabric, and the buffers that it sends messages from.
pub(crate) struct Port<'a> {
    pub shared: &'a Shared,
    pub sends: &'a SendBuffers,
}

impl Port<'_> {
    fn outcome(&self, pe: usize, result: isize) -> Result<bool, Reason> {
        match result {
            0 => Ok(true),
            result if result == -(libfabric::FI_EAGAIN as isize) => Ok(false),
            result => {
                let reason = self.shared.endpoint.library.strerror(result);
                if !self.shared.losses.are_tolerated() {
                    return Err(Reason::Library(reason));
                }
                self.shared.peer_failed(Some(pe), &reason);
                Ok(false)
            }
        }
    }
}

impl Network for Port<'_> {
    fn send(&self, pe: usize, message: &mut Vec<u8>, awaited: bool) -> Result<bool, Reason> {
        let (endpoint, peer) = (&self.shared.endpoint, self.shared.peer(pe));
        if !peer.condition.is_well() {
            return Ok(true);
        }
        let peer = peer.address;
        let injected = Injected { pe, awaited };
        if message.len() <= self.sends.inject {
            let flags = libfabric::FI_INJECT;
            // SAFETY: the message may be changed once the call has returned.
            let result =
                unsafe { endpoint.send(peer, injected.context(), (message.as_slice(), ptr::null_mut()), flags) };
            return self.outcome(pe, result);
        }
        let Some((sent, buffer)) = self.sends.take(injected, message) else {
            return Ok(false);
        };
        // SAFETY: no thread changes the buffer until libfabric has sent it.
        let result = unsafe { endpoint.send(peer, endpoint.context(sent), (buffer, self.sends.desc()), 0) };
        if result != 0 {
            self.sends.take_back(sent, message);
        }
        self.outcome(pe, result)
    }

    fn write(&self, pe: usize, slot: usize, message: &TaggedMessage, awaited: bool) -> Result<bool, Reason> {
        let (endpoint, peer) = (&self.shared.endpoint, self.shared.peer(pe));
        if !peer.condition.is_well() {
            return Ok(true);
        }
        let slots = peer.message_slots.ok_or(Reason::Malformed)?;
        let words = message.words();
        let to = libfabric::fi_rma_iov {
            addr: slots.address + super::slots::offset(slot),
            len: size_of_val(words),
            key: slots.key,
        };
        let injected = Injected { pe, awaited };
        let from = words.as_ptr().cast();
        // SAFETY: `words` has as many bytes, and may be changed once the call has returned.
        let result = unsafe { endpoint.inject(peer.address, injected, to, from) };
        self.outcome(pe, result)
    }

    #[inline]
    fn address(&self, segment: usize, offset: usize, len: usize) -> Option<*mut u8> {
        self.shared.segments.address(segment, offset, len)
    }

    fn deliver(&self, pe: usize, record: &[u8]) -> bool {
        self.shared.events.record_arrived(pe, record)
    }

    fn count_sent(&self, pe: usize) {
        self.shared.peer(pe).issued.fetch_add(1, Relaxed);
    }

    fn count_completed(&self, pe: usize, n: u32) {
        self.shared.peer(pe).completed.fetch_add(n, Relaxed);
    }

    fn completed(&self, pe: usize) -> u32 {
        self.shared.peer(pe).completed.load(Relaxed)
    }

    fn has_failed(&self, pe: usize, since: Instant) -> bool {
        let is_late = since.elapsed() > self.shared.config.peer_timeout;
        if is_late && self.shared.losses.are_tolerated() {
            self.shared.peer_failed(Some(pe), &Reason::Refused.to_string());
            return false;
        }
        is_late
    }
}

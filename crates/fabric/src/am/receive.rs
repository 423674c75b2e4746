//! Receiving messages from libfabric, and waiting for what was requested.

use super::Fault;
use super::buffers::{ReceiveBuffers, SendBuffers};
use super::channel::Limits;
use super::messages::{ActiveMessages, Flush};
use super::network::Port;
use crate::completion::Shared;
use crate::endpoint::{Endpoint, Received};
use crate::memory::{Location, Region};
use crate::{Config, Error, TaggedMessage};

/// Active messages over libfabric.
pub(crate) struct Messenger {
    /// Dropped before the slots.
    region: Region,
    base: u64,
    pub messages: ActiveMessages,
    pub sends: SendBuffers,
    receives: ReceiveBuffers,
    /// The longest put that goes by a message; 0: none does.
    pub longest_put: usize,
}

impl Messenger {
    /// None: the provider's own operations are better.
    pub(crate) fn open(
        endpoint: &Endpoint,
        config: &Config,
        inject: usize,
    ) -> Result<Option<Messenger>, Error> {
        let by_software = endpoint.info.provider() == "tcp;ofi_rxm" && !endpoint.pins;
        let limits = Limits::new(config.n_pes);
        if !by_software || inject < 2 * TaggedMessage::BYTES || config.pe >= config.n_pes {
            return Ok(None);
        }
        let messages = ActiveMessages::new(config.pe, config.n_pes, limits);
        let longest_put = config.aggregate.bytes.min(messages.longest_put());
        let (base, len) = messages.slots.memory();
        // SAFETY: the slots live until the region is gone.
        let region = unsafe { Region::for_peers(endpoint, base, len, true, &|_| false)? };
        let this = Messenger {
            region,
            base: endpoint.address_of(base),
            messages,
            sends: SendBuffers::new(inject),
            receives: ReceiveBuffers::new(),
            longest_put,
        };
        for received in this.receives.all() {
            // SAFETY: the buffers live until the endpoint is closed, and no thread reads this one.
            let result = unsafe { this.receives.post(endpoint, received) };
            endpoint.check(result as i32, "receive messages")?;
        }
        Ok(Some(this))
    }

    /// Where peers find the slots.
    pub(crate) fn location(&self) -> Location {
        Location {
            address: self.base,
            key: self.region.key(),
        }
    }

    pub(super) fn port<'a>(&'a self, shared: &'a Shared) -> Port<'a> {
        Port {
            shared,
            sends: &self.sends,
        }
    }

    /// A message has been received.
    pub(crate) fn received(&self, shared: &Shared, received: Received) {
        // SAFETY: libfabric has written the buffer, and one thread alone is told so.
        let message = unsafe { self.receives.message(received) };
        let taken = self.messages.receive(&self.port(shared), message);
        // SAFETY: this thread has read the buffer, and does not any more; the buffers live until the endpoint
        // is closed.
        let result = unsafe { self.receives.post(&shared.endpoint, received) };
        shared.heed(taken);
        if result != 0 {
            let reason = shared.endpoint.library.strerror(result);
            shared.peer_failed(shared.peers.suspect(), &reason);
        }
    }

    /// Executes the requests in slots, and sends what is pending; returns how many were executed.
    #[inline]
    pub(crate) fn progress(&self, shared: &Shared, flush: Flush) -> usize {
        let port = self.port(shared);
        let served = shared.heed(self.messages.serve_slots(&port));
        shared.heed(self.messages.flush(&port, flush));
        served
    }
}

impl Shared {
    /// The result, unless a peer is at fault, which ends the process. Not to be called with a lock: the owner
    /// may put to other PEs before it ends the process.
    pub(super) fn heed<T>(&self, result: Result<T, Fault>) -> T {
        result.unwrap_or_else(|Fault { pe, reason }| {
            let pe = pe.unwrap_or_else(|| self.peers.suspect());
            self.peer_failed(pe, &reason.to_string())
        })
    }
}

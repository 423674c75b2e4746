//! Receiving messages from libfabric, and waiting for what was requested.

use super::Fault;
use super::buffers::{ReceiveBuffers, SendBuffers};
use super::channel::Limits;
use super::messages::{ActiveMessages, Flush};
use super::network::Port;
use crate::completion::{ContextCounters, Shared};
use crate::endpoint::{Endpoint, Received};
use crate::memory::{Region, RmaAddress};
use crate::{Config, Error, discovery};

/// Active messages over libfabric.
pub(crate) struct AmEndpoint {
    /// Of the slots, before which it is dropped. None: there are no requests about memory, but records alone.
    region: Option<Region>,
    base: u64,
    pub messages: ActiveMessages,
    pub sends: SendBuffers,
    receives: ReceiveBuffers,
    /// The longest put that goes by a message; 0: none does.
    pub longest_put: usize,
    /// The longest put that goes with the signal behind it in one message; 0: none does.
    pub longest_signalled_put: usize,
}

impl AmEndpoint {
    /// None: this endpoint is none of a job's.
    pub(crate) fn open(endpoint: &Endpoint, config: &Config, inject: usize) -> Result<Option<AmEndpoint>, Error> {
        /// Bytes of the signal, the item's word and its operand, and of the words of the put's other items.
        const SIGNAL: usize = 64;

        let by_software = endpoint.is_by_tcp() && !endpoint.pins;
        let mut limits = Limits::new(config.n_pes);
        if endpoint.is_tcp_alone() {
            limits = limits.with_long_records(config.n_pes);
        }
        // Elsewhere, the provider's own operations on memory are better.
        let serves_memory = by_software && discovery::injects_requests(&endpoint.info);
        if config.pe >= config.n_pes {
            return Ok(None);
        }
        let messages = ActiveMessages::new(config.pe, config.n_pes, limits);
        let longest_put = match serves_memory {
            true => config.aggregate.bytes.min(messages.longest_put()),
            false => 0,
        };
        let longest_signalled_put = match longest_put {
            0 => 0,
            longest => longest.max(messages.longest_put() - SIGNAL),
        };
        let (base, len) = messages.slots.memory();
        // SAFETY: the slots live until the region is gone.
        let register = || unsafe { Region::for_peers(endpoint, base, len, true, &|_| false) };
        let this = AmEndpoint {
            region: serves_memory.then(register).transpose()?,
            base: endpoint.address_of(base),
            messages,
            sends: SendBuffers::new(endpoint, inject)?,
            receives: ReceiveBuffers::new(endpoint)?,
            longest_put,
            longest_signalled_put,
        };
        for received in this.receives.all() {
            // SAFETY: the buffers live until the endpoint is closed, and no thread reads this one.
            let result = unsafe { this.receives.post(endpoint, received) };
            endpoint.check(result as i32, "receive messages")?;
        }
        Ok(Some(this))
    }

    /// Where peers find the slots.
    pub(crate) fn location(&self) -> Option<RmaAddress> {
        let region = self.region.as_ref()?;
        Some(RmaAddress { address: self.base, key: region.key() })
    }

    /// Whether requests about memory go by messages: atomics, short reads and puts.
    pub(crate) fn serves_memory(&self) -> bool {
        self.region.is_some()
    }

    pub(crate) fn port<'a>(&'a self, shared: &'a Shared) -> Port<'a> {
        Port { shared, sends: &self.sends }
    }

    /// A message has been received.
    pub(crate) fn received(&self, shared: &Shared, received: Received) {
        // SAFETY: libfabric has written the buffer, and one thread alone has the completion.
        let message = unsafe { self.receives.message(received) };
        let taken = self.messages.receive(&self.port(shared), message);
        let posted = self.receive_again(shared, received);
        shared.value_or_fail(taken);
        Self::check_receive(shared, posted);
    }

    /// Lets libfabric receive into a buffer that no thread reads any more; returns its result.
    pub(crate) fn receive_again(&self, shared: &Shared, received: Received) -> isize {
        // SAFETY: the caller has read the buffer; the buffers live until the endpoint is closed.
        unsafe { self.receives.post(&shared.endpoint, received) }
    }

    fn check_receive(shared: &Shared, result: isize) {
        if result != 0 {
            let reason = shared.endpoint.library.strerror(result);
            shared.peer_failed(None, &reason);
        }
    }

    /// Executes the requests in slots, and sends what is pending; returns how many were executed.
    #[inline]
    pub(crate) fn progress(&self, shared: &Shared, flush: Flush) -> usize {
        Self::check_receive(shared, self.receives.post_refused(&shared.endpoint));
        let port = self.port(shared);
        let served = shared.value_or_fail(self.messages.serve_slots(&port));
        shared.value_or_fail(self.messages.flush(&port, flush));
        served
    }

    /// Hands over what a context has gathered, as far as there is room.
    pub(crate) fn hand_over(&self, shared: &Shared, context: &ContextCounters) {
        let port = self.port(shared);
        shared.value_or_fail(self.messages.hand_over_context(&port, context));
    }

    /// Hands over what all contexts have gathered, as far as there is room.
    pub(crate) fn hand_over_all(&self, shared: &Shared) {
        shared.value_or_fail(self.messages.hand_over_all(&self.port(shared)));
    }
}

impl Shared {
    /// The result, unless a peer is at fault, which ends the process, or has the fabric shut down: then nothing has
    /// been done. Not to be called with a lock: the owner may put to other PEs before it ends the process.
    pub(crate) fn value_or_fail<T: Default>(&self, result: Result<T, Fault>) -> T {
        result.unwrap_or_else(|Fault { pe, reason }| {
            self.peer_failed(pe, &reason.to_string());
            T::default()
        })
    }
}

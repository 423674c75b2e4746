//! What all parts of an open fabric use.

use std::sync::Arc;

use ferroshmem_platform::{Backoff, Limits, Step};

use super::losses::Losses;
use super::shutdown::Shutdown;
use super::ticks::Ticks;
use crate::address::{Peer, Peers};
use crate::endpoint::Endpoint;
use crate::event_count::EventCount;
use crate::events::Events;
use crate::memory::{Buffers, Exposures, LocalBuffer, Segments};
use crate::{Config, Error};

/// The endpoint and what belongs to it: memory of this PE, addresses of the others, the owner.
pub(crate) struct Shared {
    // Dropped in this order: what is registered goes before the domain.
    pub buffers: Buffers,
    pub segments: Segments,
    pub exposures: Exposures,
    pub peers: Peers,
    pub event_count: EventCount,
    pub shutdown: Shutdown,
    pub losses: Losses,
    pub ticks: Ticks,
    pub endpoint: Arc<Endpoint>,
    pub events: Arc<dyn Events>,
    pub config: Config,
}

impl Shared {
    pub(crate) fn new(endpoint: Arc<Endpoint>, events: Arc<dyn Events>, config: &Config) -> Result<Shared, Error> {
        Ok(Shared {
            buffers: Buffers::new(&endpoint, config.local_pes)?,
            segments: Segments::new(&endpoint)?,
            exposures: Exposures::default(),
            peers: Peers::default(),
            event_count: EventCount::new()?,
            shutdown: Shutdown::new(config.survives),
            losses: Losses::default(),
            ticks: Ticks::default(),
            endpoint,
            events,
            config: config.clone(),
        })
    }

    /// A PE has failed, or, if libfabric does not say which, one that had operations under way. It becomes a suspect, or
    /// is reported to the owner, which ends the process, or has the fabric shut down.
    pub(crate) fn peer_failed(&self, pe: Option<usize>, reason: &str) {
        match self.losses.are_tolerated() {
            true => self.suspect(pe, reason),
            false => self.end_over(pe, reason),
        }
    }

    pub(super) fn end_over(&self, pe: Option<usize>, reason: &str) {
        if self.shutdown.is_requested() {
            return;
        }
        let pe = pe.unwrap_or_else(|| self.peers.suspect());
        self.events.peer_failed(pe, reason);
        assert!(self.config.survives, "the process ends with its peers");
        self.shutdown.request();
    }

    /// Ends the process over a PE that no operation can reach.
    pub(crate) fn give_up(&self, pe: usize, reason: &str) -> ! {
        self.events.peer_failed(pe, reason);
        std::process::abort()
    }

    /// A PE that operations go to.
    #[inline]
    pub(crate) fn peer(&self, pe: usize) -> &Peer {
        match self.peers.get(pe) {
            Some(peer) => peer,
            None => self.give_up(pe, "it was never connected"),
        }
    }

    /// The program's memory, where it is: part of a segment, or registered for the operation. None:
    /// it cannot be registered, and must be copied.
    pub(crate) fn direct(&self, base: *mut u8, len: usize) -> Option<LocalBuffer> {
        if self.buffers.must_register()
            && let Some(desc) = self.segments.desc(base, len)
        {
            return Some(LocalBuffer::registered(base, desc));
        }
        self.buffers.direct(base, len)
    }

    /// The back-off of a thread that waits for completions.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(Limits::completion(self.config.spin))
    }

    /// After a poll that found nothing; `done` says that there is no need to sleep.
    pub(crate) fn pause(&self, backoff: &mut Backoff, done: &mut dyn FnMut() -> bool) {
        match backoff.step() {
            Step::Poll => std::hint::spin_loop(),
            Step::Offered | Step::Yielded => {}
            Step::Sleep => self.event_count.wait(done),
        }
    }
}

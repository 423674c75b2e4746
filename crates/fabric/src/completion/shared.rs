//! What all parts of an open fabric use.

use std::sync::Arc;
use std::time::Duration;

use ferroshmem_platform::{Backoff, Limits, Step};

use super::losses::{Losses, Suspicion};
use super::shutdown::Shutdown;
use super::ticks::Ticks;
use crate::address::{Peer, Peers};
use crate::condition::{LOST, SUSPECT};
use crate::endpoint::Endpoint;
use crate::event_count::EventCount;
use crate::events::Events;
use crate::lock::lock;
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

    /// A PE has failed, or, if libfabric does not say which, one that had operations under way. It becomes a suspect,
    /// or is reported to the owner, which ends the process, or has the fabric shut down.
    pub(crate) fn peer_failed(&self, pe: Option<usize>, reason: &str) {
        match self.losses.are_tolerated() {
            true => self.suspect(pe, reason),
            false => self.end_over(pe, reason),
        }
    }

    fn end_over(&self, pe: Option<usize>, reason: &str) {
        if self.shutdown.is_requested() {
            return;
        }
        let pe = pe.unwrap_or_else(|| self.peers.suspect());
        self.events.peer_failed(pe, reason);
        assert!(self.config.survives, "the process ends with its peers");
        self.shutdown.request();
    }

    #[inline]
    pub(crate) fn is_lost(&self, pe: usize) -> bool {
        self.peers.get(pe).is_some_and(|peer| peer.condition.is_lost())
    }

    /// A failure makes a suspect. With any locks but that of the losses.
    #[cold]
    #[inline(never)]
    fn suspect(&self, pe: Option<usize>, reason: &str) {
        if let Some(pe) = pe {
            let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(SUSPECT)) else {
                return;
            };
            peer.queue.close();
        }
        let (time, tick) = (self.explained_within(), self.config.tick);
        let ticks = time.as_millis() as u64 / (tick.as_millis() as u64).max(1) / 2;
        let mut all = lock(&self.losses.all);
        if pe.is_some_and(|pe| self.is_lost(pe)) {
            return; // by another thread meanwhile
        }
        all.suspect(pe, reason, time, ticks.try_into().unwrap_or(u32::MAX));
    }

    /// A PE is lost; whether it was not before. What is under way to it is still to be completed.
    pub(crate) fn lose(&self, pe: usize) -> bool {
        self.losses.tolerate();
        let Some(peer) = self.peers.get(pe).filter(|peer| peer.condition.raise(LOST)) else {
            return false;
        };
        peer.queue.close();
        lock(&self.losses.all).lose(pe);
        true
    }

    /// Time within which the loss of a PE explains a failure: that of a host takes longer than to notice that it is
    /// silent, and longer still on busy nodes.
    fn explained_within(&self) -> Duration {
        self.config.peer_timeout * 10 / 3
    }

    /// Reports a suspect that was not lost in time. Once for each tick.
    fn report_suspects(&self) {
        if !self.losses.are_tolerated() {
            return;
        }
        let late = lock(&self.losses.all).tick(self.explained_within());
        if let Some(Suspicion { pe, reason, .. }) = late {
            self.end_over(pe, &reason);
        }
    }

    /// Calls the owner, and looks after suspects, unless that is what called this.
    pub(crate) fn tick(&self) {
        if self.ticks.enter() {
            self.report_suspects();
            self.events.tick();
            self.ticks.leave();
        }
    }

    /// The same, if it is time, of a thread that waits for room: this may be the progress thread, and what it waits for
    /// may be that the owner says that a PE is lost.
    pub(crate) fn tick_meanwhile(&self) {
        if self.ticks.elapsed() >= self.config.tick && self.ticks.are_of_this_thread() {
            self.tick();
        }
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

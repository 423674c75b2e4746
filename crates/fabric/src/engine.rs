//! What all operations share.

use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};

use crate::bell::Bell;
use crate::desk::Desk;
use crate::endpoint::Endpoint;
use crate::gather::Gathers;

use crate::context::{Counts, Lane};
use crate::discovery::{enumerate, open_library};
use crate::info::{Wish, ask};
use crate::local::Buffers;
use crate::peer::{Missing, Peer, Peers, Spot};
use crate::record::{Record, Records, Tally};
use crate::segment::Segments;
use crate::sys;
use crate::{Config, Error, Events, Remote};

pub(crate) struct Engine {
    // Dropped in this order: what is registered goes before the domain.
    pub records: Records,
    pub buffers: Buffers,
    pub segments: Segments,
    pub desk: Option<Desk>,
    pub peers: Peers,
    pub gathers: Gathers,
    pub bell: Bell,
    pub endpoint: Arc<Endpoint>,
    pub events: Arc<dyn Events>,
    pub config: Config,
    /// Pieces of remote memory that one operation may be about.
    pub pieces: usize,
    /// Bytes of an operation at most.
    pub longest: usize,
    /// Bytes of a write that leaves nothing behind, at most.
    pub inject: usize,
    /// Writes to a PE arrive in the order in which they were begun.
    pub ordered: bool,
    /// Operations so far, about.
    pub begun: AtomicUsize,
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.endpoint.info.mr_mode() & sys::FI_MR_ENDPOINT == 0 {
            // Operations that nobody waited for must not go on in records that are freed.
            // SAFETY: the helper has ended, and no thread of the program has the engine.
            unsafe { self.endpoint.stop() };
        }
    }
}

impl Engine {
    pub fn open(config: &Config, events: Arc<dyn Events>, pinned: bool) -> Result<Engine, Error> {
        let library = open_library(config)?;
        let mut candidates = enumerate(&library, config, false);
        if candidates
            .first()
            .is_none_or(|c| c.provider.usable.is_err())
        {
            candidates = enumerate(&library, config, true); // to say what is there
        }
        let first = candidates.into_iter().next();
        let Some(first) = first else {
            return Err(Error::new(
                "libfabric offers nothing here: is there a network interface that is up?",
            ));
        };
        if let Err(why) = &first.provider.usable {
            return Err(Error::new(format!(
                "libfabric offers nothing that can be used ({} on {}: {why}): see oshmem_info --fabric",
                first.provider.name, first.provider.interface
            )));
        }
        let ordered = ask(&library, &Wish::Transfers)
            .iter()
            .find(|info| info.provider() == first.provider.name)
            .is_some_and(|info| {
                // SAFETY: infos have all their parts.
                let (order, size) = unsafe {
                    (
                        (*info.tx_attr()).msg_order,
                        (*info.ep_attr()).max_order_waw_size,
                    )
                };
                let writes = sys::FI_ORDER_RMA_WAW | u64::from(sys::FI_ORDER_WAW);
                order & writes != 0 && size == usize::MAX
            });
        let endpoint = Arc::new(Endpoint::open(library, first.info, pinned)?);
        // SAFETY: infos have all their parts.
        let (pieces, longest, inject) = unsafe {
            let tx = endpoint.info.tx_attr();
            let longest = (*endpoint.info.ep_attr()).max_msg_size;
            ((*tx).rma_iov_limit, longest, (*tx).inject_size)
        };
        Ok(Engine {
            records: Records::default(),
            buffers: Buffers::new(&endpoint, config.local_pes)?,
            segments: Segments::new(&endpoint)?,
            desk: Desk::open(&endpoint, config, inject)?,
            peers: Peers::default(),
            gathers: Gathers::default(),
            bell: Bell::new()?,
            endpoint,
            events,
            config: config.clone(),
            pieces: pieces.clamp(1, crate::gather::PIECES),
            longest: longest.clamp(1, if pinned { 1 << 20 } else { 1 << 30 }),
            inject,
            ordered,
            begun: AtomicUsize::new(0),
        })
    }

    /// Whether the helper thread notices what peers write.
    pub fn notifies_writes(&self) -> bool {
        let provider = self.endpoint.info.provider();
        provider.split(';').any(|part| part == "tcp")
    }

    pub fn lost(&self, pe: usize, reason: &str) -> ! {
        self.events.peer_failed(pe, reason)
    }

    #[inline]
    pub(crate) fn peer(&self, pe: usize) -> &Peer {
        match self.peers.get(pe) {
            Some(peer) => peer,
            None => self.lost(pe, "it was never connected"),
        }
    }

    /// The lane of an operation that a fence may have to hold back.
    #[inline]
    pub(crate) fn lane<'c>(&self, counts: &'c Counts, pe: usize, write: bool) -> &'c Lane {
        let lane = counts.lane(pe, self.peers.n());
        if counts.behind(lane) {
            self.catch_up(counts, lane, write);
        }
        lane
    }

    /// Waits for what a fence puts before the operation that is about to begin, unless the
    /// provider keeps that order.
    #[cold]
    fn catch_up(&self, counts: &Counts, lane: &Lane, write: bool) {
        let fences = counts.fences();
        if write && self.ordered && lane.only_writes() {
            return; // what was before the fence has begun
        }
        self.wait(|| lane.under_way() == 0);
        counts.caught_up(lane, fences);
    }

    /// Where remote memory is.
    #[inline]
    pub(crate) fn spot(&self, peer: &Peer, at: Remote) -> Spot {
        match peer.spot(at) {
            Ok(spot) => spot,
            Err(missing) => self.seek(peer, at, missing),
        }
    }

    #[cold]
    fn seek(&self, peer: &Peer, at: Remote, missing: Missing) -> Spot {
        let (Missing::Key { chunk }, Some((base, table_key))) = (missing, peer.table) else {
            let Remote {
                segment, offset, ..
            } = at;
            self.lost(
                at.pe,
                &format!("it shares no byte {offset} of segment {segment}"),
            );
        };
        let begin = Instant::now();
        loop {
            let left = AtomicUsize::new(1);
            let record = self.record(at.pe, Tally::waiter(&left));
            let data = Record::data(record);
            let entry = base + Segments::entry(at.segment, chunk) as u64;
            let mut key = sys::KEY_NOTAVAIL;
            // SAFETY: the record's buffer has room for a key; it goes into `key`, which lives
            // until the operation is complete.
            unsafe {
                (*record.as_ptr()).scatter = Some(crate::record::Scatter {
                    from: data,
                    to: (&raw mut key).cast(),
                    step: 0,
                    block: 8,
                    n: 1,
                });
                let desc = (*record.as_ptr()).desc;
                self.submit(at.pe, || {
                    let context = Record::context(record);
                    sys::fi_read(
                        self.endpoint.ep,
                        data.cast(),
                        8,
                        desc,
                        peer.address,
                        entry,
                        table_key,
                        context,
                    )
                });
            }
            self.wait(|| left.load(Acquire) == 0);
            // SAFETY: written through a pointer.
            let key = unsafe { ptr::read_volatile(&raw const key) };
            if key != sys::KEY_NOTAVAIL {
                peer.learn(at.segment, chunk, key);
                if let Ok(spot) = peer.spot(at) {
                    return spot;
                }
            }
            if begin.elapsed() > self.config.peer_timeout {
                self.lost(at.pe, "it has not registered the memory that is accessed");
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// A record for an operation that is about to begin; counts it.
    #[inline]
    pub(crate) fn record(&self, pe: usize, tally: Tally) -> NonNull<Record> {
        let record = match self.records.take(&self.buffers) {
            Ok(record) => record,
            Err(error) => self.lost(pe, &error.to_string()),
        };
        if let Some(peer) = self.peers.get(pe) {
            peer.begun.fetch_add(1, Relaxed);
        }
        // SAFETY: the record is ours until the operation begins.
        unsafe {
            (*record.as_ptr()).tally = tally;
            (*record.as_ptr()).pe = pe as u32;
            if let Some((counts, lane, write)) = tally.stream {
                counts.as_ref().begin(lane.as_ref(), write);
            }
        }
        record
    }
}

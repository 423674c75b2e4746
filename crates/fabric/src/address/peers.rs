//! The PEs that can be reached, and where their memory is.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use super::blob::AddressBlob;
use crate::condition::Condition;
use crate::discovery::address_in;
use crate::endpoint::Endpoint;
use crate::libfabric;
use crate::memory::{CHUNKS, Division, RmaAddress};
use crate::{Error, Remote};

/// A PE that can be reached.
pub(crate) struct Peer {
    /// Its address in the endpoint's address vector.
    pub address: libfabric::fi_addr_t,
    /// Operations to it that were issued, and how many of them are complete.
    pub issued: AtomicU32,
    pub completed: AtomicU32,
    /// Threads that wait for room to issue an operation.
    pub queue: Queue,
    pub condition: Condition,
    /// Its table of keys, where segments are registered in chunks.
    pub key_table: Option<RmaAddress>,
    /// Its slots for active messages, where it serves them.
    pub message_slots: Option<RmaAddress>,
    virtual_addresses: bool,
    segments: Vec<RemoteSegment>,
}

/// Threads that wait for room, first come, first served: without it, a thread that issues one
/// operation after the other would keep the progress thread from its heartbeats.
#[derive(Default)]
pub(crate) struct Queue {
    next: AtomicU32,
    served: AtomicU32,
}

impl Queue {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.served.load(Relaxed) == self.next.load(Relaxed)
    }

    /// The number of a thread that enters.
    pub(crate) fn enter(&self) -> u32 {
        self.next.fetch_add(1, Relaxed)
    }

    pub(crate) fn is_first(&self, number: u32) -> bool {
        self.served.load(Acquire) == number
    }

    /// Nobody is ever the only one again.
    pub(crate) fn close(&self) {
        self.enter();
    }

    /// The first leaves.
    pub(crate) fn leave(&self) {
        self.served.fetch_add(1, Release);
    }
}

struct RemoteSegment {
    base: u64,
    len: usize,
    keys: Box<[AtomicU64]>,
}

/// Remote memory as an operation names it: what a [`Remote`] is resolved to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RmaIov {
    pub address: u64,
    pub key: u64,
    /// Bytes from here on that the key is good for.
    pub usable: usize,
}

/// Why remote memory cannot be resolved.
pub(crate) enum Missing {
    /// The peer shares no such memory.
    Nowhere,
    /// The key of this chunk is still to be read from the peer's table.
    Key { chunk: usize },
}

impl Peer {
    pub(crate) fn new(address: libfabric::fi_addr_t, blob: AddressBlob) -> Peer {
        let chunks = if blob.key_table.is_some() { CHUNKS } else { 1 };
        let segments = blob.segments.into_iter().map(|segment| {
            let key = |i| segment.keys.get(i).copied().unwrap_or(libfabric::KEY_NOTAVAIL);
            RemoteSegment {
                base: segment.base,
                len: segment.len as usize,
                keys: (0..chunks).map(|i| AtomicU64::new(key(i))).collect(),
            }
        });
        Peer {
            address,
            issued: AtomicU32::new(0),
            completed: AtomicU32::new(0),
            queue: Queue::default(),
            condition: Condition::default(),
            key_table: blob.key_table,
            message_slots: blob.message_slots,
            virtual_addresses: blob.virtual_addresses,
            segments: segments.collect(),
        }
    }

    #[inline]
    pub(crate) fn resolve(&self, at: Remote) -> Result<RmaIov, Missing> {
        let segment = self.segments.get(at.segment).ok_or(Missing::Nowhere)?;
        if at.offset >= segment.len {
            return Err(Missing::Nowhere);
        }
        let division = if self.key_table.is_some() { Division::Chunks } else { Division::Whole };
        let chunk = division.chunk(at.offset);
        let key = segment.keys[chunk].load(Relaxed);
        if key == libfabric::KEY_NOTAVAIL {
            return Err(Missing::Key { chunk });
        }
        let address = if self.virtual_addresses {
            segment.base.wrapping_add(at.offset as u64)
        } else {
            (at.offset - Division::start(chunk)) as u64
        };
        Ok(RmaIov { address, key, usable: division.end(chunk, segment.len) - at.offset })
    }

    /// Keeps a key that was read from the peer's table.
    pub(crate) fn set_key(&self, segment: usize, chunk: usize, key: u64) {
        self.segments[segment].keys[chunk].store(key, Relaxed);
    }
}

#[derive(Default)]
pub(crate) struct Peers(OnceLock<Box<[OnceLock<Peer>]>>);

impl Peers {
    /// How many there are, known or not.
    pub(crate) fn n(&self) -> usize {
        self.0.get().map_or(0, |all| all.len())
    }

    #[inline]
    pub(crate) fn get(&self, pe: usize) -> Option<&Peer> {
        self.0.get()?.get(pe)?.get()
    }

    /// A PE that has operations under way, else any that is known.
    pub(crate) fn suspect(&self) -> usize {
        let all = self.0.get().map_or(&[][..], |all| all);
        let is_busy = |place: &OnceLock<Peer>| {
            let busy =
                |peer: &Peer| peer.issued.load(Relaxed) != peer.completed.load(Relaxed) && !peer.condition.is_lost();
            place.get().is_some_and(busy)
        };
        let known = || all.iter().position(|place| place.get().is_some());
        all.iter().position(is_busy).or_else(known).unwrap_or(0)
    }

    pub(crate) fn connect(
        &self,
        endpoint: &Endpoint,
        n_pes: usize,
        blobs: &mut dyn Iterator<Item = (usize, &[u8])>,
    ) -> Result<(), Error> {
        let all = self.0.get_or_init(|| (0..n_pes).map(|_| OnceLock::new()).collect());
        let own = address_in(endpoint.info.format(), &endpoint.name()?);
        for (pe, bytes) in blobs {
            let Some(place) = all.get(pe) else {
                return Err(Error::NoSuchPe { pe, n_pes });
            };
            let blob = AddressBlob::from_bytes(bytes)?;
            let provider = endpoint.info.provider();
            if blob.provider != provider || blob.format != endpoint.info.format() {
                return Err(Error::ProvidersDiffer { pe, theirs: blob.provider, ours: provider });
            }
            if let (Some(ours), Some(theirs)) = (own, address_in(blob.format, &blob.name)) {
                check_route(ours, theirs).map_err(|reason| Error::Unreachable { pe, theirs, ours, reason })?;
            }
            let Some(address) = endpoint.insert(&blob.name) else {
                return Err(Error::AddressRefused { provider, pe });
            };
            // A PE that is connected again stays as it is.
            let _ = place.set(Peer::new(address, blob));
        }
        Ok(())
    }
}

/// Whether there is a route, as far as this host knows without sending anything.
fn check_route(own: IpAddr, other: IpAddr) -> Result<(), String> {
    if own.is_loopback() != other.is_loopback() {
        return Err("one of them is loopback".into());
    }
    // Connecting a datagram socket looks the route up.
    let route = UdpSocket::bind(SocketAddr::new(own, 0)).and_then(|socket| socket.connect(SocketAddr::new(other, 9)));
    route.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::SegmentKeys;

    fn peer(table: bool, virtual_addresses: bool) -> Peer {
        let segment = SegmentKeys { base: 1 << 44, len: 1 << 30, keys: vec![7] };
        let blob = AddressBlob {
            virtual_addresses,
            key_table: table.then_some(RmaAddress { address: 0, key: 1 }),
            segments: vec![segment],
            ..AddressBlob::default()
        };
        Peer::new(0, blob)
    }

    fn at(offset: usize) -> Remote {
        Remote { pe: 0, segment: 0, offset }
    }

    #[test]
    fn offsets_of_a_whole_segment() {
        let peer = peer(false, false);
        let iov = peer.resolve(at(100)).ok().unwrap();
        assert_eq!((iov.address, iov.key, iov.usable), (100, 7, (1 << 30) - 100));
        assert!(matches!(peer.resolve(at(1 << 30)), Err(Missing::Nowhere)));
    }

    #[test]
    fn chunks_count_from_their_start_and_need_their_keys() {
        let chunk = 16 << 20;
        let peer = peer(true, false);
        assert_eq!(peer.resolve(at(chunk - 8)).ok().unwrap().usable, 8);
        let beyond = at(3 * chunk);
        assert!(matches!(peer.resolve(beyond), Err(Missing::Key { chunk: 2 })));
        peer.set_key(0, 2, 9);
        let iov = peer.resolve(beyond).ok().unwrap();
        assert_eq!((iov.address, iov.key, iov.usable), (chunk as u64, 9, chunk));
    }

    #[test]
    fn virtual_addresses_count_from_the_base() {
        let iov = peer(true, true).resolve(at(64)).ok().unwrap();
        assert_eq!(iov.address, (1 << 44) + 64);
    }

    #[test]
    fn loopback_and_elsewhere_do_not_meet() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert!(check_route(loopback, IpAddr::from([192, 0, 2, 1])).is_err());
        assert!(check_route(loopback, loopback).is_ok());
    }
}

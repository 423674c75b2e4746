//! The PEs that can be reached, and where their memory is.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use crate::endpoint::Endpoint;
use crate::interface::address_in;
use crate::segment::{CHUNKS, Division};
use crate::sys;
use crate::ticket::Ticket;
use crate::{Error, Remote};

pub(crate) struct Peer {
    pub address: sys::fi_addr_t,
    /// Operations to it that were begun, and how many of them are complete.
    pub begun: AtomicU32,
    pub answers: AtomicU32,
    /// Who waits for room to begin an operation.
    pub queue: Queue,
    pub table: Option<(u64, u64)>,
    /// Where it is asked, address and key.
    pub desk: Option<(u64, u64)>,
    virtual_addresses: bool,
    segments: Vec<Segment>,
}

/// Threads that wait for room, first come, first served: without it, a thread that begins one
/// operation after the other would keep the helper thread from its signs of life.
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

    /// The number of a thread that comes.
    pub(crate) fn enter(&self) -> u32 {
        self.next.fetch_add(1, Relaxed)
    }

    pub(crate) fn is_first(&self, number: u32) -> bool {
        self.served.load(Acquire) == number
    }

    /// The first goes.
    pub(crate) fn leave(&self) {
        self.served.fetch_add(1, Release);
    }
}

struct Segment {
    base: u64,
    len: usize,
    keys: Box<[AtomicU64]>,
}

/// Remote memory as an operation names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub address: u64,
    pub key: u64,
    /// Bytes from here on that the key is good for.
    pub run: usize,
}

/// Why there is no spot.
pub(crate) enum Missing {
    /// The peer shares no such memory.
    Nowhere,
    /// The key of this chunk is still to be read from the peer's table.
    Key { chunk: usize },
}

impl Peer {
    pub(crate) fn new(address: sys::fi_addr_t, ticket: Ticket) -> Peer {
        let chunks = if ticket.table.is_some() { CHUNKS } else { 1 };
        let segments = ticket.segments.into_iter().map(|segment| {
            let key = |i| segment.keys.get(i).copied().unwrap_or(sys::KEY_NOTAVAIL);
            Segment {
                base: segment.base,
                len: segment.len as usize,
                keys: (0..chunks).map(|i| AtomicU64::new(key(i))).collect(),
            }
        });
        Peer {
            address,
            begun: AtomicU32::new(0),
            answers: AtomicU32::new(0),
            queue: Queue::default(),
            table: ticket.table,
            desk: ticket.desk,
            virtual_addresses: ticket.virtual_addresses,
            segments: segments.collect(),
        }
    }

    #[inline]
    pub(crate) fn spot(&self, at: Remote) -> Result<Spot, Missing> {
        let segment = self.segments.get(at.segment).ok_or(Missing::Nowhere)?;
        if at.offset >= segment.len {
            return Err(Missing::Nowhere);
        }
        let division = if self.table.is_some() {
            Division::Chunks
        } else {
            Division::Whole
        };
        let chunk = division.chunk(at.offset);
        let key = segment.keys[chunk].load(Relaxed);
        if key == sys::KEY_NOTAVAIL {
            return Err(Missing::Key { chunk });
        }
        let start = if chunk == 0 {
            0
        } else {
            Division::start(chunk)
        };
        let address = if self.virtual_addresses {
            segment.base.wrapping_add(at.offset as u64)
        } else {
            (at.offset - start) as u64
        };
        Ok(Spot {
            address,
            key,
            run: division.end(chunk, segment.len) - at.offset,
        })
    }

    pub(crate) fn learn(&self, segment: usize, chunk: usize, key: u64) {
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
            let busy = |peer: &Peer| peer.begun.load(Relaxed) != peer.answers.load(Relaxed);
            place.get().is_some_and(busy)
        };
        let known = || all.iter().position(|place| place.get().is_some());
        all.iter().position(is_busy).or_else(known).unwrap_or(0)
    }

    pub(crate) fn connect(
        &self,
        endpoint: &Endpoint,
        n_pes: usize,
        tickets: &mut dyn Iterator<Item = (usize, &[u8])>,
    ) -> Result<(), Error> {
        let all = self
            .0
            .get_or_init(|| (0..n_pes).map(|_| OnceLock::new()).collect());
        let own = address_in(endpoint.info.format(), &endpoint.name()?);
        for (pe, bytes) in tickets {
            let Some(place) = all.get(pe) else {
                return Err(Error::new(format!(
                    "there is no PE {pe}: the job has {n_pes}"
                )));
            };
            let ticket = Ticket::from_bytes(bytes)?;
            let provider = endpoint.info.provider();
            if ticket.provider != provider || ticket.format != endpoint.info.format() {
                return Err(Error::new(format!(
                    "PE {pe} uses {}, this PE {provider}: set SHMEM_FABRIC to one that all nodes have",
                    ticket.provider
                )));
            }
            if let (Some(own), Some(other)) = (own, address_in(ticket.format, &ticket.name)) {
                reachable(own, other).map_err(|why| {
                    Error::new(format!(
                        "PE {pe} at {other} cannot be reached from {own} ({why}): set SHMEM_FABRIC_INTERFACE to the network that joins the nodes"
                    ))
                })?;
            }
            let Some(address) = endpoint.insert(&ticket.name) else {
                return Err(Error::new(format!(
                    "{provider} does not accept the address of PE {pe}: do all nodes have the same libfabric?"
                )));
            };
            // A PE that is connected again stays as it is.
            let _ = place.set(Peer::new(address, ticket));
        }
        Ok(())
    }
}

/// What can be known without sending anything.
fn reachable(own: IpAddr, other: IpAddr) -> Result<(), String> {
    if own.is_loopback() != other.is_loopback() {
        return Err("one of them is loopback".into());
    }
    // Connecting a datagram socket looks the route up.
    let route = UdpSocket::bind(SocketAddr::new(own, 0))
        .and_then(|socket| socket.connect(SocketAddr::new(other, 9)));
    route.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::SegmentTicket;

    fn peer(table: bool, virtual_addresses: bool) -> Peer {
        let segment = SegmentTicket {
            base: 1 << 44,
            len: 1 << 30,
            keys: vec![7],
        };
        let ticket = Ticket {
            virtual_addresses,
            table: table.then_some((0, 1)),
            segments: vec![segment],
            ..Ticket::default()
        };
        Peer::new(0, ticket)
    }

    fn at(offset: usize) -> Remote {
        Remote {
            pe: 0,
            segment: 0,
            offset,
        }
    }

    #[test]
    fn offsets_of_a_whole_segment() {
        let peer = peer(false, false);
        let spot = peer.spot(at(100)).ok().unwrap();
        assert_eq!(
            (spot.address, spot.key, spot.run),
            (100, 7, (1 << 30) - 100)
        );
        assert!(matches!(peer.spot(at(1 << 30)), Err(Missing::Nowhere)));
    }

    #[test]
    fn chunks_count_from_their_start_and_need_their_keys() {
        let chunk = 16 << 20;
        let peer = peer(true, false);
        assert_eq!(peer.spot(at(chunk - 8)).ok().unwrap().run, 8);
        let beyond = at(3 * chunk);
        assert!(matches!(peer.spot(beyond), Err(Missing::Key { chunk: 2 })));
        peer.learn(0, 2, 9);
        let spot = peer.spot(beyond).ok().unwrap();
        assert_eq!((spot.address, spot.key, spot.run), (chunk as u64, 9, chunk));
    }

    #[test]
    fn virtual_addresses_count_from_the_base() {
        let spot = peer(true, true).spot(at(64)).ok().unwrap();
        assert_eq!(spot.address, (1 << 44) + 64);
    }

    #[test]
    fn loopback_and_elsewhere_do_not_meet() {
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert!(reachable(loopback, IpAddr::from([192, 0, 2, 1])).is_err());
        assert!(reachable(loopback, loopback).is_ok());
    }
}

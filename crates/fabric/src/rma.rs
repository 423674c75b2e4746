//! What one-sided operations have in common: their issuers and order, and the keys of remote memory.

use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::Remote;
use crate::address::{Missing, Peer, RmaIov};
use crate::completion::{CompletionCounter, ContextCounters, CopyOut, PeerCounters, Pending, WorkRequest};
use crate::issue::{Direction, IovList, Issuer};
use crate::libfabric;
use crate::memory::Segments;
use crate::progress::Progress;

/// One-sided operations on memory of other PEs.
pub(crate) struct Rma {
    pub progress: Arc<Progress>,
    /// Writes to a PE arrive in the order in which they were issued.
    pub ordered: bool,
    /// So do messages and the writes before them.
    pub sends_follow_writes: bool,
}

/// Remote memory of a fabric that is shut down, by which nothing is done.
const NOWHERE: RmaIov = RmaIov { address: 0, key: 0, usable: usize::MAX };

impl Rma {
    /// The counters of a context for `pe`, after a wait for what a fence puts before the operation
    /// that is about to begin.
    #[inline]
    pub(crate) fn order<'c>(&self, context: &'c ContextCounters, pe: usize, write: bool) -> &'c PeerCounters {
        let peer = self.peer_counters(context, pe);
        if context.has_fence_for(peer) {
            self.catch_up(context, peer, write);
        }
        peer
    }

    /// As [`order`](Self::order), before a request to a PE that executes those of this one in the order
    /// in which they were made.
    pub(crate) fn order_request<'c>(&self, context: &'c ContextCounters, pe: usize) -> &'c PeerCounters {
        let peer = self.peer_counters(context, pe);
        if !peer.no_writes() && context.has_fence_for(peer) {
            self.await_writes(context, peer);
        }
        peer
    }

    /// Returns when a message to the PE arrives after the writes that the context has made to it.
    pub(crate) fn await_writes(&self, context: &ContextCounters, peer: &PeerCounters) {
        let issuer = self.drained_issuer(context);
        if !(self.sends_follow_writes && issuer.completions.is_first()) {
            self.progress.wait_at(issuer, || peer.no_writes());
        }
    }

    /// What issues the operations of a context.
    #[inline]
    pub(crate) fn issuer(&self, context: &ContextCounters) -> &Issuer {
        self.progress.issuer_of(context)
    }

    /// What has issued the operations of a context so far.
    #[inline]
    pub(crate) fn opened_issuer(&self, context: &ContextCounters) -> &Issuer {
        self.progress.opened_issuer_of(context)
    }

    /// As [`opened_issuer`](Self::opened_issuer), once it has issued the writes that it keeps: what comes next is
    /// behind them.
    pub(crate) fn drained_issuer(&self, context: &ContextCounters) -> &Issuer {
        let issuer = self.opened_issuer(context);
        issuer.coalescer.drain(issuer);
        issuer
    }

    /// Returns when `done`, which operations of the context bring about, also those that it has gathered.
    pub(crate) fn wait_for(&self, context: &ContextCounters, done: impl Fn() -> bool) {
        let (issuer, progress) = (self.opened_issuer(context), &self.progress);
        progress.wait_at(issuer, || {
            done() || {
                progress.hand_over(context);
                false
            }
        });
    }

    /// The counters of a context for `pe`.
    #[inline]
    pub(crate) fn peer_counters<'c>(&self, context: &'c ContextCounters, pe: usize) -> &'c PeerCounters {
        context.peer(pe, self.progress.shared().peers.n())
    }

    #[cold]
    fn catch_up(&self, context: &ContextCounters, peer: &PeerCounters, write: bool) {
        let fences = context.fences();
        if write && self.ordered && peer.only_writes() {
            return; // the provider keeps the order: what was before the fence has begun
        }
        self.wait_for(context, || peer.in_flight() == 0);
        context.caught_up(peer, fences);
    }

    /// Remote memory as operations name it.
    #[inline]
    pub(crate) fn resolve(&self, at: Remote) -> RmaIov {
        let peer = self.progress.shared().peer(at.pe);
        match peer.resolve(at) {
            Ok(iov) => iov,
            Err(missing) => self.fetch_key(peer, at, &missing),
        }
    }

    /// Reads a key from the peer's table.
    #[cold]
    fn fetch_key(&self, peer: &Peer, at: Remote, missing: &Missing) -> RmaIov {
        let shared = self.progress.shared();
        let (Missing::Key { chunk }, Some(table)) = (missing, peer.key_table) else {
            let Remote { segment, offset, .. } = at;
            let reason = format!("it shares no byte {offset} of segment {segment}");
            shared.peer_failed(Some(at.pe), &reason);
            return NOWHERE;
        };
        let entry = RmaIov {
            address: table.address + Segments::entry(at.segment, *chunk) as u64,
            key: table.key,
            usable: size_of::<u64>(),
        };
        let begin = Instant::now();
        loop {
            let mut key = libfabric::KEY_NOTAVAIL;
            let to = (&raw mut key).cast();
            let pending = Pending::default();
            // SAFETY: the key lives until the operation is complete, which the next line waits for.
            unsafe { self.read_part(at.pe, entry, to, size_of::<u64>(), pending.counter()) };
            self.progress.wait(|| pending.is_complete());
            // SAFETY: the key was written through a pointer.
            let key = unsafe { ptr::read_volatile(&raw const key) };
            if key != libfabric::KEY_NOTAVAIL {
                peer.set_key(at.segment, *chunk, key);
                if let Ok(iov) = peer.resolve(at) {
                    return iov;
                }
            }
            if begin.elapsed() > shared.config.peer_timeout {
                let reason = "it has not registered the memory that is accessed";
                shared.peer_failed(Some(at.pe), reason);
            }
            if shared.shutdown.is_requested() || !peer.condition.is_well() {
                return NOWHERE;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads few bytes, within the work request.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes, [`INLINE`](crate::completion::INLINE) at most, until the operation is
    /// complete.
    unsafe fn read_part(&self, pe: usize, iov: RmaIov, to: *mut u8, len: usize, counter: CompletionCounter) {
        let issuer = &self.progress.first;
        let request = issuer.completions.request(pe, counter);
        let local = WorkRequest::inline(request);
        // SAFETY: the request has not begun and has room; the caller promises that `to` is writable.
        unsafe {
            (*request.as_ptr()).copy_out = Some(CopyOut::contiguous(local.base, to, len));
            issuer.issue(request, pe, Direction::Read, local, &IovList::new(iov, len));
        }
    }
}

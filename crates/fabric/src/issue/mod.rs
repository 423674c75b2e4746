//! Issuing operations: at once ([`Issuer`]), or small writes to one PE together ([`WriteCoalescer`]).

mod coalescer;
mod iov;

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use crate::address::RmaIov;
use crate::completion::{CompletionCounter, Retry, Shared, WorkRequest};
use crate::endpoint::Injected;
use crate::libfabric;
use crate::memory::LocalBuffer;
use crate::queue::CompletionQueue;
pub(crate) use coalescer::{SmallWrite, WriteCoalescer};
pub(crate) use iov::IovList;
use iov::MAX_IOVS;

/// Operations after which a thread polls even if it does not wait.
const POLL_EVERY: usize = 64;

/// What libfabric returns where there is no room.
const NO_ROOM: isize = -(libfabric::FI_EAGAIN as isize);

/// Which way an operation moves data, and when it is complete.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// A write that is complete when it is delivered.
    Write,
    /// A write that is complete when its source may be changed, delivered or not.
    WriteLocal,
    /// A read that is complete when its data are there.
    Read,
}

/// Hands operations to libfabric, by one endpoint.
pub(crate) struct Issuer {
    pub completions: CompletionQueue,
    pub coalescer: WriteCoalescer,
    /// The peers' addresses in the endpoint's address vector, each when it is first needed. None: it is the first
    /// endpoint, and the peers have them.
    addresses: Option<Box<[OnceLock<libfabric::fi_addr_t>]>>,
    /// Pieces of remote memory that one operation may be about.
    pub max_iovs: usize,
    /// Bytes of an operation at most.
    pub max_bytes: usize,
    /// Bytes of a write that leaves nothing behind, at most.
    pub inject_bytes: usize,
    /// Operations so far, about.
    issued: AtomicUsize,
}

impl Issuer {
    /// `pinned`: operations are short, for tests.
    pub(crate) fn new(completions: CompletionQueue, inject_bytes: usize, pinned: bool) -> Issuer {
        let info = &completions.endpoint.info;
        let n_pes = completions.shared.peers.n();
        let addresses = || (0..n_pes).map(|_| OnceLock::new()).collect();
        // SAFETY: infos have all their parts.
        let (iovs, bytes) = unsafe {
            let bytes = (*info.ep_attr()).max_msg_size;
            ((*info.tx_attr()).rma_iov_limit, bytes)
        };
        Issuer {
            max_iovs: iovs.clamp(1, MAX_IOVS),
            max_bytes: bytes.clamp(1, if pinned { 1 << 20 } else { 1 << 30 }),
            inject_bytes,
            issued: AtomicUsize::new(0),
            coalescer: WriteCoalescer::default(),
            addresses: (!completions.is_first()).then(addresses),
            completions,
        }
    }

    fn shared(&self) -> &Shared {
        &self.completions.shared
    }

    /// Issues what is kept.
    #[inline]
    pub(crate) fn flush(&self) {
        self.coalescer.flush(self);
    }

    /// Takes all locks that issuing and completing take.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        (self.coalescer.hold(), self.completions.hold())
    }

    /// A peer's address for operations of this endpoint.
    #[inline]
    pub(crate) fn address(&self, pe: usize) -> libfabric::fi_addr_t {
        match &self.addresses {
            None => self.shared().peer(pe).address,
            Some(addresses) => self.own_address(&addresses[pe], pe),
        }
    }

    #[inline(never)] // once for all routines
    fn own_address(&self, place: &OnceLock<u64>, pe: usize) -> libfabric::fi_addr_t {
        *place.get_or_init(|| {
            let shared = self.shared();
            let name = shared.endpoint.lookup(shared.peer(pe).address);
            let address = name.and_then(|name| self.completions.endpoint.insert(&name));
            address.unwrap_or_else(|| shared.give_up(pe, "an endpoint refuses its address"))
        })
    }

    /// Issues an operation by calling libfabric, again and again where it has no room. What the request, if it has one,
    /// stands for is kept or dropped if the PE is not well.
    #[inline(never)] // once for all routines
    pub(crate) fn submit(&self, pe: usize, request: Option<NonNull<WorkRequest>>, call: &dyn Fn() -> isize) {
        let shared = self.shared();
        // The progress thread is to leave the provider's lock, which is not a fair one.
        self.completions.count_poll();
        let mut result = NO_ROOM;
        if shared.peer(pe).queue.is_empty() {
            result = shared.shutdown.while_open(call);
        }
        if result != 0 {
            self.retry(pe, request, result, call);
        }
        // Two operations may count as one: the count only sets a rhythm.
        let issued = self.issued.load(Relaxed).wrapping_add(1);
        self.issued.store(issued, Relaxed);
        if issued.is_multiple_of(POLL_EVERY) {
            self.completions.poll();
        }
    }

    #[cold]
    fn retry(&self, pe: usize, request: Option<NonNull<WorkRequest>>, mut result: isize, call: &dyn Fn() -> isize) {
        const REASON: &str = "nothing comes back from it, and nothing can be sent";

        let shared = self.shared();
        let peer = shared.peer(pe);
        let number = peer.queue.enter();
        let mut completed = peer.completed.load(Relaxed);
        let mut retry = Retry::new(shared, Some(pe), REASON);
        while result != 0 && !shared.shutdown.is_requested() {
            if result != NO_ROOM {
                shared.peer_failed(Some(pe), &shared.endpoint.library.strerror(result));
            }
            if !peer.condition.is_well() {
                // Others that wait for room see the same.
                if let Some(request) = request {
                    self.completions.keep(request);
                }
                return;
            }
            if self.completions.poll() > 0 {
                retry.completed();
            } else {
                retry.pause(&mut || peer.completed.load(Relaxed) != completed);
            }
            let now = peer.completed.load(Relaxed);
            if now != completed {
                completed = now;
                retry.progressed();
            }
            if peer.queue.is_first(number) {
                result = shared.shutdown.while_open(call);
            }
        }
        peer.queue.leave();
    }

    /// Writes bytes that may be changed on return, without a completion.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes, `inject_bytes` and the iov's length at most.
    pub(crate) unsafe fn inject(&self, pe: usize, iov: RmaIov, from: *const u8, len: usize) {
        let (endpoint, peer) = (&self.completions.endpoint, self.address(pe));
        let injected = Injected { pe, awaited: false };
        let to = libfabric::fi_rma_iov { addr: iov.address, len, key: iov.key };
        // SAFETY: the caller promises that `from` is readable for `len` bytes.
        self.submit(pe, None, &|| unsafe { endpoint.inject(peer, injected, to, from.cast()) });
    }

    /// Issues an operation between local memory and all pieces of `iovs`, which are one after the
    /// other in local memory.
    ///
    /// # Safety
    /// The local memory is as long as `iovs`, and stays until the operation is complete; for reads,
    /// it is writable.
    pub(crate) unsafe fn issue(
        &self,
        request: NonNull<WorkRequest>,
        pe: usize,
        direction: Direction,
        local: LocalBuffer,
        iovs: &IovList,
    ) {
        let (ep, peer) = (self.completions.endpoint.ep, self.address(pe));
        let context = WorkRequest::context(request);
        let LocalBuffer { base, desc, guard } = local;
        // SAFETY: this thread alone has the request until the operation begins. The caller promises
        // that the local memory is as long as `iovs`, which `call` passes on to libfabric.
        unsafe {
            (*request.as_ptr()).guard = guard;
            if let Some(libfabric::fi_rma_iov { addr, len, key }) = iovs.single()
                && direction == Direction::Read
            {
                let base = base.cast();
                return self
                    .submit(pe, Some(request), &|| libfabric::fi_read(ep, base, len, desc, peer, addr, key, context));
            }
            let iov = libc::iovec { iov_base: base.cast(), iov_len: iovs.bytes() };
            self.submit(pe, Some(request), &|| message(ep, peer, direction, (iov, desc), iovs, context));
        }
    }

    /// Writes bytes that may be changed on return, unless there is no room.
    ///
    /// # Safety
    /// The source is readable for `len` bytes, [`LONGEST`](WriteCoalescer::LONGEST) and the iov's length at most.
    pub(crate) unsafe fn try_write(
        &self,
        pe: usize,
        counter: CompletionCounter,
        iov: RmaIov,
        from: *const u8,
        len: usize,
    ) -> bool {
        let (ep, peer) = (self.completions.endpoint.ep, self.address(pe));
        let request = self.completions.request(pe, counter);
        let LocalBuffer { base, desc, .. } = WorkRequest::inline(request);
        let (local, iovs) = (libc::iovec { iov_base: base.cast(), iov_len: len }, IovList::new(iov, len));
        let (context, direction) = (WorkRequest::context(request), Direction::Write);
        // SAFETY: the request has room, and lives until the operation is complete; the caller promises that the source
        // is readable.
        let result = unsafe {
            ptr::copy_nonoverlapping(from, base, len);
            let call = || message(ep, peer, direction, (local, desc), &iovs, context);
            self.shared().shutdown.while_open(call)
        };
        if result != 0 {
            self.completions.end(request, false);
        }
        if result != 0 && result != NO_ROOM {
            self.shared().peer_failed(Some(pe), &self.shared().endpoint.library.strerror(result));
        }
        result == 0
    }
}

/// Hands an operation of several pieces, or a write, to libfabric; returns its result.
///
/// # Safety
/// As for [`Issuer::issue`].
#[inline]
unsafe fn message(
    ep: *mut libfabric::fid_ep,
    addr: libfabric::fi_addr_t,
    direction: Direction,
    (iov, mut desc): (libc::iovec, *mut c_void),
    iovs: &IovList,
    context: *mut c_void,
) -> isize {
    let message = libfabric::fi_msg_rma {
        msg_iov: &raw const iov,
        desc: &raw mut desc,
        iov_count: 1,
        addr,
        rma_iov: iovs.as_slice().as_ptr(),
        rma_iov_count: iovs.as_slice().len(),
        context,
        data: 0,
    };
    let message = &raw const message;
    // Without rxm, tcp heeds these flags alone, not those of the endpoint.
    let flags = libfabric::FI_COMPLETION
        | match direction {
            Direction::Write => libfabric::FI_DELIVERY_COMPLETE,
            Direction::WriteLocal => libfabric::FI_INJECT_COMPLETE,
            Direction::Read => 0,
        };
    // SAFETY: the caller promises that local and remote memory are as long as each other, and stay; the message is read
    // during the call.
    unsafe {
        match direction {
            Direction::Read => libfabric::fi_readmsg(ep, message, flags.into()),
            _ => libfabric::fi_writemsg(ep, message, flags.into()),
        }
    }
}

//! Small writes to one PE that become one operation.

use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

use super::{Direction, IovList, Issuer};
use crate::address::RmaIov;
use crate::completion::{CompletionCounter, ContextCounters, INLINE, PeerCounters, WorkRequest};
use crate::lock::lock;

/// Small writes to one PE, coalesced into one operation while others are under way.
///
/// A write of 8 bytes costs almost as much as one of 256. So the first is issued at once, and
/// those that follow before it has arrived are kept together. They are issued when there is no more
/// room, or when any thread waits or polls, the progress thread included.
#[derive(Default)]
pub(crate) struct WriteCoalescer {
    slots: [Mutex<Option<PendingWrites>>; SLOTS],
    /// Slots that have something.
    kept: AtomicUsize,
}

const SLOTS: usize = 16;

/// Writes that are kept, in a work request that has not begun.
struct PendingWrites {
    request: NonNull<WorkRequest>,
    pe: usize,
    context: *const ContextCounters,
    iovs: IovList,
}

// SAFETY: no other thread has the request until it begins; the context is only compared.
unsafe impl Send for PendingWrites {}

/// A write of few bytes, in one piece.
#[derive(Clone, Copy)]
pub(crate) struct SmallWrite<'c> {
    pub pe: usize,
    pub context: &'c ContextCounters,
    pub peer: &'c PeerCounters,
    pub iov: RmaIov,
    pub from: *const u8,
    pub len: usize,
}

impl WriteCoalescer {
    /// Writes up to this length in bytes are coalesced.
    pub(crate) const LONGEST: usize = 64;

    /// Issues a write, now or with others. The source may be changed on return.
    ///
    /// # Safety
    /// The source is readable for the write's length, [`LONGEST`](Self::LONGEST) at most.
    pub(crate) unsafe fn write(&self, issuer: &Issuer, write: SmallWrite<'_>) {
        let SmallWrite { pe, context, peer, .. } = write;
        let which = (ptr::from_ref(context).addr() >> 6 ^ pe) % SLOTS;
        let mut slot = loop {
            let mut slot = lock(&self.slots[which]);
            let Some(kept) = &mut *slot else { break slot };
            // SAFETY: the caller promises that the source is readable.
            if unsafe { kept.append(issuer.max_iovs, &write) } {
                return;
            }
            let kept = slot.take();
            drop(slot);
            if let Some(kept) = kept {
                self.issue(issuer, kept);
            }
        };
        let is_idle = peer.in_flight() == 0;
        let counter = CompletionCounter::context(context, peer, true);
        let request = issuer.completions.request(pe, counter);
        let local = WorkRequest::inline(request);
        // SAFETY: the request has room for `LONGEST` bytes; the caller promises that the source is
        // readable.
        unsafe { ptr::copy_nonoverlapping(write.from, local.base, write.len) };
        let iovs = IovList::new(write.iov, write.len);
        if is_idle {
            drop(slot);
            // SAFETY: the request has the bytes, and lives until the operation is complete.
            unsafe { issuer.issue(request, pe, Direction::Write, local, &iovs) };
        } else {
            *slot = Some(PendingWrites { request, pe, context, iovs });
            self.kept.fetch_add(1, Relaxed);
        }
    }

    /// Issues what is kept, of all contexts.
    #[inline]
    pub(crate) fn flush(&self, issuer: &Issuer) {
        if self.kept.load(Relaxed) != 0 {
            self.flush_all(issuer);
        }
    }

    /// Whether something is kept.
    pub(crate) fn has_pending_writes(&self) -> bool {
        self.kept.load(Acquire) != 0
    }

    /// Returns when everything is issued that any thread has written before.
    pub(crate) fn drain(&self, issuer: &Issuer) {
        while self.has_pending_writes() {
            // What another thread has taken out of a slot, it is about to issue.
            self.flush_all(issuer);
            std::hint::spin_loop();
        }
    }

    #[cold]
    fn flush_all(&self, issuer: &Issuer) {
        for slot in &self.slots {
            // A thread that has it locked adds to it, and is done in a moment.
            let kept = slot.try_lock().ok().and_then(|mut slot| slot.take());
            if let Some(kept) = kept {
                self.issue(issuer, kept);
            }
        }
    }

    /// Takes the locks of all slots.
    #[cfg(test)]
    pub(super) fn hold(&self) -> impl Sized + '_ {
        self.slots.iter().map(lock).collect::<Vec<_>>()
    }

    /// Not to be called with a slot locked: if the PE has failed, the fabric's owner is called from
    /// here, and may put to other PEs before it ends the process.
    fn issue(&self, issuer: &Issuer, kept: PendingWrites) {
        let local = WorkRequest::inline(kept.request);
        // SAFETY: the request has as many bytes as its iovs say, and lives until the operation is
        // complete.
        unsafe { issuer.issue(kept.request, kept.pe, Direction::Write, local, &kept.iovs) };
        self.kept.fetch_sub(1, Release);
    }
}

impl PendingWrites {
    /// Adds a write. False: this one must be issued first.
    ///
    /// # Safety
    /// The source of the write is readable.
    unsafe fn append(&mut self, max_iovs: usize, write: &SmallWrite<'_>) -> bool {
        let at = self.iovs.bytes();
        let fits = self.pe == write.pe
            && ptr::eq(self.context, write.context)
            && at + write.len <= INLINE
            && self.iovs.append(write.iov, write.len, max_iovs);
        if fits {
            // SAFETY: there is room within the request's data; the caller promises that the source
            // is readable.
            unsafe {
                let to = WorkRequest::inline(self.request).base.add(at);
                ptr::copy_nonoverlapping(write.from, to, write.len);
            }
        }
        fits
    }
}

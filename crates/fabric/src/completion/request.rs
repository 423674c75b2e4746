//! Work requests: what is kept of an operation while it is under way.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

use super::context::{ContextCounters, PeerCounters};
use super::tracked::Tracked;
use crate::Error;
use crate::libfabric;
use crate::lock::lock;
use crate::memory::{BufferGuard, Buffers, LocalBuffer, Region};

/// Bytes that an operation can carry within its work request.
pub(crate) const INLINE: usize = 256;
/// Work requests made at once.
const SLAB: usize = 64;

/// Where data that has been read goes from the buffer that it was read into.
#[derive(Clone, Copy)]
pub(crate) struct CopyOut {
    pub from: *const u8,
    pub to: *mut u8,
    /// Bytes from one block's beginning to the next, at `to`.
    pub stride: isize,
    pub block: usize,
    pub n: usize,
}

impl CopyOut {
    /// One block.
    pub(crate) fn contiguous(from: *const u8, to: *mut u8, len: usize) -> CopyOut {
        CopyOut { from, to, stride: 0, block: len, n: 1 }
    }

    /// # Safety
    /// The blocks at `to` are writable, and `from` is readable for as many bytes.
    unsafe fn copy(&self) {
        for i in 0..self.n {
            // SAFETY: the caller promises that block `i` is writable, and that the buffer has as
            // many blocks.
            unsafe {
                let to = self.to.offset(self.stride * i as isize);
                ptr::copy_nonoverlapping(self.from.add(i * self.block), to, self.block);
            }
        }
    }
}

/// What counts an operation down when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionCounter {
    /// The counters of its context, whether the operation is a write, and whether the context's phase is odd.
    Context { context: NonNull<ContextCounters>, peer: NonNull<PeerCounters>, write: bool, is_odd: bool },
    /// The count of a thread that waits.
    Thread(NonNull<AtomicUsize>),
    /// The count of an operation's own, and the counters of its context.
    Tracked(NonNull<Tracked>),
}

impl CompletionCounter {
    pub(crate) fn context(context: &ContextCounters, peer: &PeerCounters, write: bool) -> CompletionCounter {
        let is_odd = context.is_odd();
        CompletionCounter::Context { context: context.into(), peer: peer.into(), write, is_odd }
    }

    /// The operation begins.
    pub(crate) fn begin(self) {
        // SAFETY: the thread that begins an operation has references to its counters.
        unsafe {
            match self {
                CompletionCounter::Context { context, peer, write, is_odd } => {
                    context.as_ref().begin(peer.as_ref(), write, is_odd);
                }
                CompletionCounter::Thread(pending) => {
                    pending.as_ref().fetch_add(1, Relaxed);
                }
                CompletionCounter::Tracked(operation) => operation.as_ref().begin_part(),
            }
        }
    }

    /// The operation is complete.
    ///
    /// # Safety
    /// It began with these counters, and ends once.
    pub(crate) unsafe fn end(self) {
        match self {
            CompletionCounter::Context { context, peer, write, is_odd } => {
                // SAFETY: a context's counters stay while it has operations under way.
                unsafe { context.as_ref().end(peer.as_ref(), write, is_odd) }
            }
            // SAFETY: the thread waits until its count is 0; the count is not touched afterwards.
            CompletionCounter::Thread(pending) => unsafe {
                pending.as_ref().fetch_sub(1, Release);
            },
            // SAFETY: a place is there until its operation is complete, which this is a part of.
            CompletionCounter::Tracked(operation) => unsafe { operation.as_ref().end_part() },
        }
    }
}

/// Operations that a thread waits for, on its stack. The thread must not leave before they are
/// [complete](Self::is_complete).
#[derive(Default)]
pub(crate) struct Pending(AtomicUsize);

impl Pending {
    pub(crate) fn counter(&self) -> CompletionCounter {
        CompletionCounter::Thread((&self.0).into())
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.0.load(Acquire) == 0
    }
}

/// What is kept of an operation.
#[repr(C)]
pub(crate) struct WorkRequest {
    /// The provider's, while the operation is under way; first, as the request's address is the
    /// operation's context.
    context: libfabric::fi_context2,
    /// None before the first operation.
    counter: Option<CompletionCounter>,
    pub pe: u32,
    /// Who ends the operation, where failures are tolerated: one more than the PE's number, until a thread does;
    /// [`ABANDONED`] then, if libfabric still has it. 0: who has its completion.
    ending: AtomicU32,
    pub guard: BufferGuard,
    pub copy_out: Option<CopyOut>,
    /// Names `data` in operations.
    desc: *mut c_void,
    data: Data,
}

/// No thread waits for the operation any more, nor has memory for its result.
const ABANDONED: u32 = u32::MAX;

#[repr(C, align(64))]
struct Data([u8; INLINE]);

impl WorkRequest {
    /// The operation's context.
    pub(crate) fn context(this: NonNull<WorkRequest>) -> *mut c_void {
        this.as_ptr().cast()
    }

    /// The request's own data as local memory, [`INLINE`] bytes, aligned to 64.
    pub(crate) fn inline(this: NonNull<WorkRequest>) -> LocalBuffer {
        // SAFETY: requests lie in slabs that are never freed while operations use them; no
        // reference is made to the data.
        let (base, desc) = unsafe {
            let data = &raw mut (*this.as_ptr()).data;
            (data.cast(), (*this.as_ptr()).desc)
        };
        LocalBuffer::registered(base, desc)
    }

    /// Copies out what was read, if `succeeded`, and lets local memory go; what counts the operation down, unless it
    /// was abandoned. The request may be used again afterwards.
    ///
    /// # Safety
    /// The operation is complete, or will never begin.
    pub(crate) unsafe fn finish(this: NonNull<WorkRequest>, succeeded: bool) -> Option<CompletionCounter> {
        let request = this.as_ptr();
        // SAFETY: the caller promises that the operation is complete, so that not the provider uses the request, nor
        // another thread more of it than `ending` and the counter, which stays. The thread that began the operation
        // promised that its memory is writable until it is complete; the buffer is still guarded.
        unsafe {
            let ending = &(*request).ending;
            let is_abandoned = ending.load(Relaxed) != 0 && ending.swap(0, AcqRel) == ABANDONED;
            if let Some(copy_out) = (*request).copy_out.take()
                && succeeded
                && !is_abandoned
            {
                copy_out.copy();
            }
            (*request).guard = BufferGuard::Nothing;
            (*request).counter.filter(|_| !is_abandoned)
        }
    }
}

/// The work requests that are free.
#[derive(Default)]
pub(crate) struct WorkRequests {
    free: Mutex<Vec<NonNull<WorkRequest>>>,
    slabs: Mutex<Vec<(Box<[WorkRequest]>, Region)>>,
}

// SAFETY: requests lie in the slabs, and no thread refers to a free one.
unsafe impl Send for WorkRequests {}
// SAFETY: as above.
unsafe impl Sync for WorkRequests {}

impl WorkRequests {
    /// Takes the locks.
    #[cfg(test)]
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        (lock(&self.free), lock(&self.slabs))
    }

    /// A work request for an operation that is about to begin, which its counter counts.
    ///
    /// # Errors
    /// There is no memory to be registered.
    pub(crate) fn take(
        &self,
        buffers: &Buffers,
        pe: usize,
        counter: CompletionCounter,
        is_tolerated: bool,
    ) -> Result<NonNull<WorkRequest>, Error> {
        let free = lock(&self.free).pop();
        let request = match free {
            Some(request) => request,
            None => self.grow(buffers)?,
        };
        counter.begin();
        // SAFETY: the request was free, so this thread alone has it until the operation begins.
        unsafe {
            (*request.as_ptr()).counter = Some(counter);
            (*request.as_ptr()).pe = pe as u32;
            (*request.as_ptr()).ending.store(u32::from(is_tolerated) * (pe as u32 + 1), Release);
        }
        Ok(request)
    }

    pub(crate) fn give_back(&self, request: NonNull<WorkRequest>) {
        lock(&self.free).push(request);
    }

    /// Ends what is under way to a PE, which libfabric may keep for ever: then it keeps the requests. How many.
    pub(crate) fn abandon(&self, pe: usize) -> usize {
        let mut n = 0;
        for (slab, _) in &*lock(&self.slabs) {
            for request in (0..slab.len()).map(|i| slab.as_ptr().wrapping_add(i)) {
                // SAFETY: of a slab; no reference is made to anything but the word. Who sets it to the PE's number has
                // written the counter before, and this thread alone ends the operation then.
                unsafe {
                    let ending = &(*request).ending;
                    let ended = ending.compare_exchange(pe as u32 + 1, ABANDONED, AcqRel, Relaxed);
                    if let (Ok(_), Some(counter)) = (ended, (*request).counter) {
                        counter.end();
                        n += 1;
                    }
                }
            }
        }
        n
    }

    /// Returns once a request that was abandoned may be used again: who has abandoned it has read its counter.
    #[cold]
    pub(crate) fn after_abandoning(&self) {
        drop(lock(&self.slabs));
    }

    #[cold]
    fn grow(&self, buffers: &Buffers) -> Result<NonNull<WorkRequest>, Error> {
        let mut slab: Box<[WorkRequest]> = (0..SLAB)
            .map(|_| WorkRequest {
                // SAFETY: pointers that the provider alone uses, after it has set them.
                context: unsafe { std::mem::zeroed() },
                counter: None,
                pe: 0,
                ending: AtomicU32::new(0),
                guard: BufferGuard::Nothing,
                copy_out: None,
                desc: ptr::null_mut(),
                data: Data([0; INLINE]),
            })
            .collect();
        let region = buffers.register(slab.as_ptr().cast(), size_of_val(&*slab))?;
        for request in &mut slab {
            request.desc = region.desc();
        }
        let base = NonNull::from(&mut *slab).cast::<WorkRequest>();
        lock(&self.slabs).push((slab, region));
        let mut free = lock(&self.free);
        // SAFETY: within the slab, whose memory stays where it is.
        free.extend((1..SLAB).map(|i| unsafe { base.add(i) }));
        Ok(base)
    }
}

//! What is kept of an operation while it is under way.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use crate::Error;
use crate::context::{Counts, Lane};
use crate::local::{Buffers, Local, Region};
use crate::registration::{Lease, Slot};
use crate::sys;

/// Bytes that an operation can carry within its record.
pub(crate) const INLINE: usize = 256;
/// Records made at once.
const SLAB: usize = 64;

/// What keeps memory registered until the operation is complete.
#[derive(Default)]
pub(crate) enum Hold {
    #[default]
    Nothing,
    Slot(#[allow(dead_code, reason = "kept, not read")] Slot<Local>),
    Lease(#[allow(dead_code, reason = "kept, not read")] Lease<Region>),
}

/// Where data that has been read goes from the buffer that it was read into.
#[derive(Clone, Copy)]
pub(crate) struct Scatter {
    pub from: *const u8,
    pub to: *mut u8,
    /// Bytes from one block's beginning to the next, at `to`.
    pub step: isize,
    pub block: usize,
    pub n: usize,
}

impl Scatter {
    /// # Safety
    /// The blocks are writable, and what `from` leads to is there.
    unsafe fn copy(&self) {
        for i in 0..self.n {
            // SAFETY: the caller's promise.
            unsafe {
                let to = self.to.offset(self.step * i as isize);
                ptr::copy_nonoverlapping(self.from.add(i * self.block), to, self.block);
            }
        }
    }
}

/// Who waits for an operation.
#[derive(Clone, Copy)]
pub(crate) struct Tally {
    /// The stream and its lane, and whether the operation is a write.
    pub stream: Option<(NonNull<Counts>, NonNull<Lane>, bool)>,
    /// Operations that a thread waits for; on its stack.
    pub waiter: *const AtomicUsize,
}

impl Tally {
    pub(crate) const NOBODY: Tally = Tally {
        stream: None,
        waiter: ptr::null(),
    };

    pub(crate) fn stream(counts: &Counts, lane: &Lane, write: bool) -> Tally {
        Tally {
            stream: Some((counts.into(), lane.into(), write)),
            waiter: ptr::null(),
        }
    }

    pub(crate) fn waiter(left: &AtomicUsize) -> Tally {
        Tally {
            stream: None,
            waiter: left,
        }
    }
}

#[repr(C)]
pub(crate) struct Record {
    /// The provider's, while the operation is under way; first, as the record's address is the
    /// operation's context.
    context: sys::fi_context2,
    pub tally: Tally,
    pub pe: u32,
    pub hold: Hold,
    pub scatter: Option<Scatter>,
    /// For `data` below.
    pub desc: *mut c_void,
    pub data: Data,
}

#[repr(C, align(64))]
pub(crate) struct Data(pub [u8; INLINE]);

impl Record {
    pub(crate) fn data(this: NonNull<Record>) -> *mut u8 {
        // SAFETY: a record of the pool; no reference is made.
        unsafe { (&raw mut (*this.as_ptr()).data).cast() }
    }

    pub(crate) fn context(this: NonNull<Record>) -> *mut c_void {
        this.as_ptr().cast()
    }

    /// What the operation leaves behind, done. The record may be used again afterwards.
    ///
    /// # Safety
    /// The operation is complete.
    pub(crate) unsafe fn finish(this: NonNull<Record>) {
        // SAFETY: nobody else has the record, and the provider is done with it.
        let record = unsafe { &mut *this.as_ptr() };
        if let Some(scatter) = record.scatter.take() {
            // SAFETY: whoever began the operation promised so for as long as it is under way.
            unsafe { scatter.copy() };
        }
        record.hold = Hold::Nothing;
    }
}

/// The records that are free.
#[derive(Default)]
pub(crate) struct Records {
    free: Mutex<Vec<NonNull<Record>>>,
    slabs: Mutex<Vec<(Box<[Record]>, Region)>>,
}

// SAFETY: records lie in the slabs, and a free one is nobody's.
unsafe impl Send for Records {}
// SAFETY: as above.
unsafe impl Sync for Records {}

impl Records {
    /// A record with nothing in it.
    ///
    /// # Errors
    /// There is no memory to be registered.
    pub(crate) fn take(&self, buffers: &Buffers) -> Result<NonNull<Record>, Error> {
        if let Some(record) = lock(&self.free).pop() {
            return Ok(record);
        }
        self.grow(buffers)
    }

    pub(crate) fn give(&self, record: NonNull<Record>) {
        lock(&self.free).push(record);
    }

    #[cold]
    fn grow(&self, buffers: &Buffers) -> Result<NonNull<Record>, Error> {
        let mut slab: Box<[Record]> = (0..SLAB)
            .map(|_| Record {
                // SAFETY: pointers that nobody follows.
                context: unsafe { std::mem::zeroed() },
                tally: Tally::NOBODY,
                pe: 0,
                hold: Hold::Nothing,
                scatter: None,
                desc: ptr::null_mut(),
                data: Data([0; INLINE]),
            })
            .collect();
        let region = buffers.register(slab.as_ptr().cast(), size_of_val(&*slab))?;
        for record in &mut slab {
            record.desc = region.desc();
        }
        let base = NonNull::from(&mut *slab).cast::<Record>();
        lock(&self.slabs).push((slab, region));
        let mut free = lock(&self.free);
        // SAFETY: within the slab, which stays where it is.
        free.extend((1..SLAB).map(|i| unsafe { base.add(i) }));
        Ok(base)
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

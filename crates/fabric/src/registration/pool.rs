//! Buffers that are registered once, for transfers too short to register their memory.

use std::alloc::{self, Layout};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::Registrar;
use ferroshmem_platform::machine::page_size;

/// Sizes of a [`Pool`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of a slot; rounded up to whole cache lines.
    pub slot: usize,
    /// Slots of a slab, which is registered as one.
    pub slots: usize,
    /// Slabs: the first is there from the start, others are added when they are needed.
    pub slabs: usize,
}

/// How many times as many slabs there may be, in place of those that are never given back.
const GROWTH: usize = 4;

/// Slots of equal size in registered memory.
///
/// What was given back last is handed out first, so that few transfers at a time stay in few,
/// cached, slots.
pub struct Pool<R: Registrar>(Arc<Inner<R>>);

struct Inner<R: Registrar> {
    registrar: R,
    shape: Shape,
    slabs: Box<[OnceLock<Slab<R::Region>>]>,
    /// Slabs that have been begun; all of them when no more is to be tried.
    begun: AtomicUsize,
    /// Slots that are never given back.
    lost: AtomicUsize,
    /// Has room for all slots but those in place of lost ones, so that nothing is allocated while it is locked.
    free: Mutex<Vec<usize>>,
}

/// Deregistered before the memory is freed: fields are dropped in this order.
struct Slab<G> {
    region: G,
    memory: Memory,
}

/// A slot, for as long as this is kept. A transfer under way must keep it.
pub struct Slot<R: Registrar> {
    pool: Arc<Inner<R>>,
    index: usize,
}

impl<R: Registrar> Pool<R> {
    /// A pool with its first slab; an error if that cannot be registered.
    pub fn new(registrar: R, shape: Shape) -> io::Result<Self> {
        let shape = Shape { slot: shape.slot.next_multiple_of(64), ..shape };
        let total = shape.slots.checked_mul(shape.slabs).filter(|&total| total > 0 && shape.slot > 0);
        let inner = Inner {
            registrar,
            shape,
            slabs: (0..shape.slabs * GROWTH).map(|_| OnceLock::new()).collect(),
            begun: AtomicUsize::new(1),
            lost: AtomicUsize::new(0),
            free: Mutex::new(Vec::with_capacity(total.ok_or(io::ErrorKind::InvalidInput)?)),
        };
        inner.fill(0)?;
        Ok(Pool(Arc::new(inner)))
    }

    /// A slot, its content that of its last use; None if all are in use: try again when a
    /// transfer is done. After a slab could not be registered, no further one is tried.
    pub fn take(&self) -> Option<Slot<R>> {
        let index = self.0.pop().or_else(|| self.0.grow())?;
        Some(Slot { pool: self.0.clone(), index })
    }

    /// So many slots may never be given back: others may be made in their place, as far as there is room for more.
    pub fn lose(&self, n: usize) {
        self.0.lost.fetch_add(n, Relaxed);
    }

    /// Bytes of a slot.
    pub fn slot_len(&self) -> usize {
        self.0.shape.slot
    }
}

impl<R: Registrar> Inner<R> {
    fn pop(&self) -> Option<usize> {
        self.free().pop()
    }

    #[cold]
    fn grow(&self) -> Option<usize> {
        let lost = self.lost.load(Relaxed).div_ceil(self.shape.slots);
        let most = self.slabs.len().min(self.shape.slabs + lost);
        let next = |begun| (begun < most).then_some(begun + 1);
        let slab = self.begun.fetch_update(Relaxed, Relaxed, next).ok()?;
        if self.fill(slab).is_err() {
            self.begun.store(self.slabs.len(), Relaxed);
        }
        self.pop()
    }

    /// Makes a slab, and its slots free.
    fn fill(&self, slab: usize) -> io::Result<()> {
        let memory = Memory::new(self.shape.slot.checked_mul(self.shape.slots))?;
        let region = self.registrar.register(memory.start.as_ptr() as usize, memory.layout.size())?;
        // Each number is drawn once, so no other thread sets this slab.
        let _ = self.slabs[slab].set(Slab { region, memory });
        let first = slab * self.shape.slots;
        self.free().extend((first..first + self.shape.slots).rev());
        Ok(())
    }

    fn free(&self) -> MutexGuard<'_, Vec<usize>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: Registrar> Slot<R> {
    /// The first of the slot's bytes; they are this slot's alone, and no reference is made to
    /// them here, so the device may write them. Aligned to a cache line.
    pub fn as_ptr(&self) -> *mut u8 {
        let Shape { slot, slots, .. } = self.pool.shape;
        // SAFETY: `fill` made slots of those indices only that lie within the slab.
        unsafe { self.slab().memory.start.as_ptr().add(self.index % slots * slot) }
    }

    /// The region that the slot lies in, which covers other slots too.
    pub fn region(&self) -> &R::Region {
        &self.slab().region
    }

    fn slab(&self) -> &Slab<R::Region> {
        let slab = self.pool.slabs[self.index / self.pool.shape.slots].get();
        slab.expect("slots are made with their slab")
    }
}

impl<R: Registrar> Drop for Slot<R> {
    fn drop(&mut self) {
        self.pool.free().push(self.index);
    }
}

/// Zeroed memory of whole pages that holds nothing else.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain bytes that this owns; each slot gives one thread access to its own.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed, so that the pages are there before they are registered and none of what was
    /// freed earlier is sent.
    fn new(bytes: Option<usize>) -> io::Result<Memory> {
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, page_size()).ok());
        let layout = layout.ok_or(io::ErrorKind::InvalidInput)?.pad_to_align();
        // SAFETY: the size is not zero, since neither slots nor their bytes are.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) });
        Ok(Memory { start: start.ok_or(io::ErrorKind::OutOfMemory)?, layout })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

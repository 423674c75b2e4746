use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::*};

/// Operations that are completed together: one for each communication context.
///
/// Any number of threads may use one at the same time. What is under way when it is dropped
/// still completes.
pub struct Context(NonNull<Counts>);

// SAFETY: a box of atomics.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// What of a stream is under way.
#[derive(Default)]
pub(crate) struct Counts {
    /// Operations that are not complete.
    all: AtomicUsize,
    /// Fences so far.
    fences: AtomicU32,
    lanes: OnceLock<Box<[Lane]>>,
}

/// The part of a stream that goes to one PE.
#[derive(Default)]
pub(crate) struct Lane {
    /// Operations that are not complete.
    out: AtomicU32,
    /// Those of them that are not writes.
    others: AtomicU32,
    /// The fence up to which this lane is known to be in order.
    fenced: AtomicU32,
}

impl Default for Context {
    fn default() -> Context {
        Context(NonNull::from(Box::leak(Box::<Counts>::default())))
    }
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context({} under way)", self.counts().under_way())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Operations under way count themselves down: then the counts stay for them. The last
        // thing an operation does with them is to count down to 0.
        if self.counts().under_way() == 0 {
            // SAFETY: of the box in `default`, and no operation refers to it.
            drop(unsafe { Box::from_raw(self.0.as_ptr()) });
        }
    }
}

impl Context {
    pub(crate) fn counts(&self) -> &Counts {
        // SAFETY: lives until drop.
        unsafe { self.0.as_ref() }
    }
}

impl Counts {
    pub(crate) fn under_way(&self) -> usize {
        self.all.load(Acquire)
    }

    pub(crate) fn lane(&self, pe: usize, n_pes: usize) -> &Lane {
        let lanes = self
            .lanes
            .get_or_init(|| (0..n_pes).map(|_| Lane::default()).collect());
        &lanes[pe]
    }

    /// The operations to this PE, if there ever were any to any.
    pub(crate) fn existing(&self, pe: usize) -> Option<&Lane> {
        self.lanes.get()?.get(pe)
    }

    pub(crate) fn fence(&self) {
        self.fences.fetch_add(1, Relaxed);
    }

    pub(crate) fn begin(&self, lane: &Lane, write: bool) {
        self.all.fetch_add(1, Relaxed);
        lane.out.fetch_add(1, Relaxed);
        if !write {
            lane.others.fetch_add(1, Relaxed);
        }
    }

    /// The operation is complete. Nothing of the stream may be touched afterwards.
    pub(crate) fn end(&self, lane: &Lane, write: bool) {
        if !write {
            lane.others.fetch_sub(1, Relaxed);
        }
        lane.out.fetch_sub(1, Release);
        self.all.fetch_sub(1, Release);
    }

    /// Whether a fence came after operations of the lane that may still be under way.
    pub(crate) fn behind(&self, lane: &Lane) -> bool {
        lane.fenced.load(Relaxed) != self.fences.load(Relaxed)
    }

    /// All operations of the lane that came before the fences so far are complete.
    pub(crate) fn caught_up(&self, lane: &Lane, fences: u32) {
        lane.fenced.store(fences, Relaxed);
    }

    pub(crate) fn fences(&self) -> u32 {
        self.fences.load(Relaxed)
    }
}

impl Lane {
    pub(crate) fn under_way(&self) -> u32 {
        self.out.load(Acquire)
    }

    /// Whether all that is under way are writes.
    pub(crate) fn only_writes(&self) -> bool {
        self.others.load(Relaxed) == 0
    }
}

//! The copies that go on after their calls: which context's and which PE's they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::dsa::{DeviceCopy, Progress};
use super::transfer::{QueuedCopy, Slot};
use super::watch::Source;
use crate::failure::fatal::fatal;
use crate::hooks;

/// Copies that are under way at once; further ones are made by their calls.
const SLOTS: usize = 16;

/// Whose a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// Tells the context from others; 0: it is not known.
    pub context: usize,
    /// World number of the PE; None: it is not known.
    pub pe: Option<usize>,
    /// The routine, if the copy is a put, whose source the program may change once it is complete.
    pub putting: Option<&'static str>,
}

impl Owner {
    /// Of an operation that the program has inlined.
    pub const UNKNOWN: Owner = Owner {
        context: 0,
        pe: None,
        putting: None,
    };

    /// Whether one that is to complete the operations of `wanted` completes this one's.
    fn is_of(&self, wanted: &Owner) -> bool {
        let same_context =
            self.context == wanted.context || self.context == 0 || wanted.context == 0;
        let same_pe = self.pe == wanted.pe || self.pe.is_none() || wanted.pe.is_none();
        same_context && same_pe
    }
}

/// A copy under way.
#[derive(Debug)]
struct Entry {
    owner: Owner,
    by: By,
    /// Under `SHMEM_CHECK`, the source of a put.
    source: Option<Source>,
}

/// Who makes a copy.
#[derive(Debug)]
enum By {
    /// Threads, by the slot. It is complete after so many steps.
    Threads { steps: u32 },
    /// Apart: there is room for many copies, and a device makes few.
    Device(Box<DeviceCopy>),
}

/// The copies under way.
#[derive(Debug)]
pub(super) struct Pending {
    pub slots: [Slot; SLOTS],
    /// By slot. The lock makes one thread alone find a copy complete and give its slot back.
    entries: Mutex<[Option<Entry>; SLOTS]>,
    /// Whether there may be one. While it is true, inlined fences and quiets call the library.
    any: AtomicBool,
}

impl Pending {
    pub(super) const fn none() -> Self {
        Self {
            slots: [const { Slot::empty() }; SLOTS],
            entries: Mutex::new([const { None }; SLOTS]),
            any: AtomicBool::new(false),
        }
    }

    /// Whether copies may be under way that this thread, or one that it has synchronised with, has begun.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// Begins a copy; false: there is no room.
    ///
    /// # Safety
    /// The arrays stay as they are until the copy is complete.
    pub(super) unsafe fn begin(&self, owner: Owner, mut copy: QueuedCopy) -> bool {
        let begun = owner.putting;
        let source = begun.and_then(|name| Source::of(name, copy.source, copy.bytes()));
        copy.is_watched = source.is_some();
        let steps = copy.steps();
        self.enter(|at| {
            // SAFETY: the slot has no entry, so this thread has it; the caller promises the arrays.
            unsafe { self.slots[at].offer_copy(copy) };
            Some(Entry {
                owner,
                by: By::Threads { steps },
                source,
            })
        })
    }

    /// Begins a copy by a device, as `begin` does that; false: there is no room, or the device takes none.
    pub(super) fn begin_on_device(
        &self,
        owner: Owner,
        begin: impl FnOnce() -> Option<DeviceCopy>,
    ) -> bool {
        self.enter(|_| {
            Some(Entry {
                owner,
                by: By::Device(Box::new(begin()?)),
                source: None,
            })
        })
    }

    /// Enters what `entry` makes for a slot; false: nothing, or there is no room.
    fn enter(&self, entry: impl FnOnce(usize) -> Option<Entry>) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.drop_complete(&mut entries, false);
        let Some(at) = entries.iter().position(Option::is_none) else {
            return false;
        };
        entries[at] = entry(at);
        if entries[at].is_some() && !self.any() {
            self.set_any(true);
        }
        entries[at].is_some()
    }

    /// Whether copies of an owner are under way.
    pub(super) fn has(&self, wanted: &Owner) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.drop_complete(&mut entries, true);
        if self.any() && entries.iter().all(Option::is_none) {
            self.set_any(false);
        }
        entries.iter().flatten().any(|e| e.owner.is_of(wanted))
    }

    /// `may_copy`: the calling thread waits for copies, and does what a device leaves.
    fn drop_complete(&self, entries: &mut [Option<Entry>; SLOTS], may_copy: bool) {
        for (entry, slot) in entries.iter_mut().zip(&self.slots) {
            let is_complete = entry.as_mut().is_some_and(|entry| match &mut entry.by {
                By::Threads { steps } => *steps == slot.finished(),
                By::Device(copy) => match copy.poll(may_copy) {
                    Progress::Complete => true,
                    Progress::Running => false,
                    Progress::Silent => fatal(
                        entry.owner.putting.unwrap_or("shmem_quiet"),
                        "the copy engine has not answered for 10 seconds: run without SHMEM_DSA",
                    ),
                },
            });
            if is_complete {
                let source = entry.take().and_then(|entry| entry.source);
                if let Some(damage) = source.and_then(|source| source.damage()) {
                    fatal(damage.routine(), damage);
                }
            }
        }
    }

    /// Called with the lock, so that the fast path's word follows.
    fn set_any(&self, any: bool) {
        self.any.store(any, Ordering::Relaxed);
        if let Some(hooks) = hooks::get() {
            (hooks.native_pending)(any);
        }
    }

    /// In a child of `fork`, which has no thread that would go on, and may not take the lock.
    pub(super) fn forget_in_child(&self) {
        self.any.store(false, Ordering::Relaxed);
    }
}

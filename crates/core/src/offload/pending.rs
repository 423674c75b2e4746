//! The copies that go on after their calls: which context's and which PE's they are.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

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
#[derive(Debug, Clone, Copy)]
struct Entry {
    owner: Owner,
    /// Steps after which it is complete.
    steps: u32,
    /// Under `SHMEM_CHECK`, the source of a put.
    source: Option<Source>,
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
            entries: Mutex::new([None; SLOTS]),
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
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.drop_complete(&mut entries);
        let Some(at) = entries.iter().position(Option::is_none) else {
            return false;
        };
        entries[at] = Some(Entry {
            owner,
            steps: copy.steps(),
            source,
        });
        if !self.any() {
            self.set_any(true);
        }
        // SAFETY: the slot had no entry, so this thread has it; the caller promises the arrays.
        unsafe { self.slots[at].offer_copy(copy) };
        true
    }

    /// Whether copies of an owner are under way.
    pub(super) fn has(&self, wanted: &Owner) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.drop_complete(&mut entries);
        if self.any() && entries.iter().all(Option::is_none) {
            self.set_any(false);
        }
        entries.iter().flatten().any(|e| e.owner.is_of(wanted))
    }

    fn drop_complete(&self, entries: &mut [Option<Entry>; SLOTS]) {
        for (entry, slot) in entries.iter_mut().zip(&self.slots) {
            if entry.is_some_and(|e| e.steps == slot.finished()) {
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

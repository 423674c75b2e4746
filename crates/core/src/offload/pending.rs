//! The copies that go on after their calls: which context's and which PE's they are.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};
use ferroshmem_platform::prefetch_for_write;

use super::events;
use super::transfer::{LINE, QueuedCopy, Signal, Slot};
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
    /// The request that is complete with it; 0: there is none.
    pub request: usize,
}

impl Owner {
    /// Of an operation that the program has inlined.
    pub const UNKNOWN: Owner = Owner { context: 0, pe: None, putting: None, request: 0 };

    /// Whether one that is to complete the operations of `wanted` completes this one's.
    fn is_of(&self, wanted: &Owner) -> bool {
        if wanted.request != 0 {
            return self.request == wanted.request;
        }
        let same_context = self.context == wanted.context || self.context == 0 || wanted.context == 0;
        let same_pe = self.pe == wanted.pe || self.pe.is_none() || wanted.pe.is_none();
        same_context && same_pe
    }
}

/// A copy under way.
#[derive(Debug)]
struct Entry {
    owner: Owner,
    /// Copies so far, with it.
    number: u32,
    /// It is complete after so many steps.
    steps: u32,
    /// Under `SHMEM_CHECK`, the source of a put.
    source: Option<Source>,
}

/// Says whether there may be copies under way. Released, as the fast path's word: the fence of a thread that finds them
/// so comes after what helpers have stored (`queued-copy` in dev/litmus).
#[inline]
pub fn set_any<A: Atomics>(word: &A::Bool, any: bool) {
    word.store(any, Ordering::Release);
}

/// The copies under way.
#[derive(Debug)]
pub(super) struct Pending {
    pub slots: [Slot; SLOTS],
    /// By slot. The lock makes one thread alone find a copy complete and give its slot back.
    entries: Mutex<[Option<Entry>; SLOTS]>,
    /// Copies so far: changed with the lock.
    begun: AtomicU32,
    /// Whether there may be one. While it is true, inlined fences and quiets call the library.
    any: AtomicBool,
}

impl Pending {
    pub(super) const fn none() -> Self {
        Self {
            slots: [const { Slot::empty() }; SLOTS],
            entries: Mutex::new([const { None }; SLOTS]),
            begun: AtomicU32::new(0),
            any: AtomicBool::new(false),
        }
    }

    /// Whether copies may be under way that this thread, or one that it has synchronised with, has begun.
    #[inline]
    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    /// The counter of events on which helpers wait for chunks.
    #[inline]
    pub(super) fn events(&self) -> &AtomicU32 {
        &self.slots[0].events
    }

    /// Fetches the lines that the next copy writes, if it is the only one.
    #[inline]
    pub(super) fn prepare(&self) {
        if self.any() {
            return;
        }
        self.slots[0].fetch();
        // All at once: the last transfer has driven them from the first cache.
        let entries = std::ptr::from_ref(&self.entries).cast::<u8>();
        for at in (0..size_of::<Entry>() + LINE).step_by(LINE) {
            prefetch_for_write(entries.wrapping_add(at));
        }
    }

    /// Begins a copy of `count` chunks, which `signal` follows, and counts the event; how many helpers sleep. None:
    /// there is no room.
    ///
    /// # Safety
    /// The arrays stay as they are until the copy is complete, and the signal.
    pub(super) unsafe fn begin(
        &self,
        owner: Owner,
        mut copy: QueuedCopy,
        count: u32,
        signal: Option<Signal>,
    ) -> Option<u32> {
        let begun = owner.putting;
        let source = begun.and_then(|name| Source::of(name, copy.source(), copy.bytes()));
        if source.is_some() {
            copy.watch();
        }
        let entry = Entry { owner, number: 0, steps: count + u32::from(signal.is_some()), source };
        self.enter(entry, |slot| {
            // SAFETY: the slot had no entry, so this thread has it; the caller promises the arrays.
            unsafe { slot.offer_copy(copy, count, signal) };
            events::count(self.events())
        })
    }

    /// Enters a copy, and does `offer` with its slot; None: there is no room.
    #[inline]
    fn enter<R>(&self, mut entry: Entry, offer: impl FnOnce(&Slot) -> R) -> Option<R> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if self.any() {
            self.drop_complete(&mut entries);
        }
        let at = entries.iter().position(Option::is_none)?;
        // At first, and in one go: helpers begin sooner, and those that poll take the slot's line away.
        let offered = offer(&self.slots[at]);
        entry.number = self.begun().wrapping_add(1);
        self.begun.store(entry.number, Ordering::Relaxed);
        entries[at] = Some(entry);
        if !self.any() {
            self.set_any(true);
        }
        Some(offered)
    }

    /// Copies so far.
    pub(super) fn begun(&self) -> u32 {
        self.begun.load(Ordering::Relaxed)
    }

    /// Whether copies of an owner are under way, of the first so many, if that is said.
    pub(super) fn has(&self, wanted: &Owner, first: Option<u32>) -> bool {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        self.drop_complete(&mut entries);
        if self.any() && entries.iter().all(Option::is_none) {
            self.set_any(false);
        }
        let is_first = |number: u32| first.is_none_or(|first| number.wrapping_sub(first) as i32 <= 0);
        entries.iter().flatten().any(|e| e.owner.is_of(wanted) && is_first(e.number))
    }

    fn drop_complete(&self, entries: &mut [Option<Entry>; SLOTS]) {
        for (entry, slot) in entries.iter_mut().zip(&self.slots) {
            let is_complete = entry.as_ref().is_some_and(|e| e.steps == slot.finished());
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
        set_any::<Std>(&self.any, any);
        if let Some(hooks) = hooks::get() {
            (hooks.native_pending)(any);
        }
    }

    /// In a child of `fork`, which has no thread that would go on, and may not take the lock.
    pub(super) fn forget_in_child(&self) {
        self.any.store(false, Ordering::Relaxed);
    }
}

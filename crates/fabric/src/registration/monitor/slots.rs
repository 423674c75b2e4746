//! The spans that are watched, in a table that is read and marked without a lock.

use std::sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering::*};

use super::kernel::Event;
use crate::registration::span::Span;

/// Spans that can be watched at once.
pub(super) const SLOTS: usize = 4096;

/// What a watched span has lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Loss {
    None = 1,
    Discarded,
    /// Its addresses may hold memory by now that is not ours to change anything about.
    Unmapped,
}

/// State of a slot that watches nothing; others are those of [`Loss`].
const FREE: u8 = 0;

#[derive(Default)]
struct WatchSlot {
    start: AtomicUsize,
    end: AtomicUsize,
    state: AtomicU8,
}

/// A slot is filled before its memory is armed. So an event of that memory is read after the
/// slot was filled, and the thread that reads it finds the slot. A slot that is being filled anew while
/// older events are looked at may be marked for one of those: its span is then registered
/// once more than was needed.
pub(super) struct Slots {
    slots: Box<[WatchSlot]>,
    /// Slots from here on have never been filled.
    top: AtomicUsize,
    losses: AtomicU64,
}

impl Slots {
    pub(super) fn new() -> Self {
        Slots {
            slots: (0..SLOTS).map(|_| WatchSlot::default()).collect(),
            top: AtomicUsize::new(0),
            losses: AtomicU64::new(0),
        }
    }

    pub(super) fn fill(&self, index: usize, span: Span) {
        let slot = &self.slots[index];
        slot.start.store(span.start, Relaxed);
        slot.end.store(span.end, Relaxed);
        slot.state.store(Loss::None as u8, Release);
        self.top.fetch_max(index + 1, Release);
    }

    pub(super) fn free(&self, index: usize) {
        self.slots[index].state.store(FREE, Release);
    }

    pub(super) fn span(&self, index: usize) -> Span {
        self.slots[index].span()
    }

    /// What the span of a slot in use has lost.
    pub(super) fn loss(&self, index: usize) -> Loss {
        match self.slots[index].state.load(Acquire) {
            1 => Loss::None,
            2 => Loss::Discarded,
            _ => Loss::Unmapped,
        }
    }

    /// How often a span lost something for the first time.
    pub(super) fn losses(&self) -> u64 {
        self.losses.load(Acquire)
    }

    /// Marks the slots that an event concerns. Wait-free, and allocates nothing.
    pub(super) fn mark(&self, event: Event) {
        let (span, loss) = match event {
            Event::Unmapped(span) => (span, Loss::Unmapped),
            Event::Discarded(span) => (span, Loss::Discarded),
        };
        for slot in self.in_use().filter(|slot| slot.span().overlaps(span)) {
            let lose = |state| (state != FREE && state < loss as u8).then_some(loss as u8);
            if slot.state.fetch_update(AcqRel, Acquire, lose) == Ok(Loss::None as u8) {
                self.losses.fetch_add(1, Release);
            }
        }
    }

    /// Hands the parts of `span` that no slot in use watches to `bare`. The caller keeps
    /// slots from being filled.
    pub(super) fn unwatched(&self, span: Span, mut bare: impl FnMut(Span)) {
        let mut from = span.start;
        while from < span.end {
            let rest = Span { start: from, end: span.end };
            let overlapping = || self.in_use().map(WatchSlot::span).filter(|other| other.overlaps(rest));
            if let Some(end) = overlapping().filter(|other| other.start <= from).map(|other| other.end).max() {
                from = end;
                continue;
            }
            let end = overlapping().map(|other| other.start).min().unwrap_or(span.end);
            bare(Span { start: from, end });
            from = end;
        }
    }

    fn in_use(&self) -> impl Iterator<Item = &WatchSlot> {
        let filled = &self.slots[..self.top.load(Acquire)];
        filled.iter().filter(|slot| slot.state.load(Acquire) != FREE)
    }
}

impl WatchSlot {
    fn span(&self) -> Span {
        Span { start: self.start.load(Relaxed), end: self.end.load(Relaxed) }
    }
}

//! Operations that are completed one by one, beside those of their context.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::*};

use ferroshmem_platform::atomic::{Atomic as _, AtomicNumber as _, Atomics, Std};

use super::context::ContextCounters;
use super::request::CompletionCounter;

/// A place for an operation whose completion can be asked for. It counts the parts that libfabric executes, and its
/// context counts them, too. A place is used again once its operation is complete: the number of the
/// [use](Self::begin) tells operations apart.
#[derive(Debug, Default)]
pub struct Tracked<A: Atomics = Std> {
    /// The number of the use, above parts that are not complete.
    state: A::U64,
    /// What of the context counts the parts: written before they begin.
    counter: Cell<Option<CompletionCounter>>,
    /// The number that the context was given for its own endpoint, plus one; 0: it has none.
    endpoint: AtomicU32,
}

// SAFETY: the counter is written by the thread that has the place while no part is under way. Threads that complete
// parts read it, and have synchronised with that thread by way of the provider.
unsafe impl<A: Atomics> Send for Tracked<A> {}
// SAFETY: as above.
unsafe impl<A: Atomics> Sync for Tracked<A> {}

impl Tracked {
    /// What counts the parts of the operation, which `of_context` counts for its context.
    pub(crate) fn counter(&self, context: &ContextCounters, of_context: CompletionCounter) -> CompletionCounter {
        self.counter.set(Some(of_context));
        let endpoint = context.endpoint().map_or(0, |number| number as u32 + 1);
        self.endpoint.store(endpoint, Relaxed);
        CompletionCounter::Tracked(NonNull::from(self))
    }

    /// The number that the operation's context was given for its own endpoint.
    pub(crate) fn endpoint(&self) -> Option<usize> {
        let number = self.endpoint.load(Relaxed).checked_sub(1)?;
        Some(number as usize)
    }
}

impl<A: Atomics> Tracked<A> {
    /// The lowest bit of the number of a use in the state. A word that names an operation has the number there, too:
    /// so none of its bits is lost.
    pub const USE: u32 = 43;

    /// Begins to use the place, which must be idle, by the thread that has it alone; the number of the use, which goes
    /// round. It is not complete before an operation was issued.
    pub fn begin(&self) -> u32 {
        let number = ((self.state.load(Relaxed) >> Self::USE) + 1) << Self::USE;
        self.state.store(number | 1, Release);
        (number >> Self::USE) as u32
    }

    /// Whether no operation uses it.
    pub fn is_idle(&self) -> bool {
        self.state.load(Acquire).trailing_zeros() >= Self::USE
    }

    /// Whether the operation of a use is complete; acquires what it has written.
    pub fn is_complete(&self, number: u32) -> bool {
        let state = self.state.load(Acquire);
        state.trailing_zeros() >= Self::USE || (state >> Self::USE) as u32 != number
    }

    /// All parts are issued.
    pub fn issued(&self) {
        self.state.fetch_sub(1, Release);
    }

    /// A part begins.
    pub(crate) fn begin_part(&self) {
        self.state.fetch_add(1, Relaxed);
        if let Some(counter) = self.counter.get() {
            counter.begin();
        }
    }

    /// A part is complete. The context learns of it last: after a quiet, the operation is complete.
    ///
    /// # Safety
    /// It began, and ends once.
    pub(crate) unsafe fn end_part(&self) {
        // The place may have another operation as soon as it is counted down.
        let counter = self.counter.get();
        self.state.fetch_sub(1, AcqRel);
        if let Some(counter) = counter {
            // SAFETY: the caller promises that the part has begun, and ends once.
            unsafe { counter.end() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Context;
    use super::*;
    use crate::Loom;

    /// Who finds an operation complete finds what each of its parts has written.
    #[test]
    fn an_operation_with_a_request_ends_behind_all_its_parts() {
        use loom::{sync::Arc, sync::atomic::AtomicU32, thread};
        loom::model(|| {
            let shared = Arc::new((Tracked::<Loom>::default(), <[AtomicU32; 2]>::default()));
            let (place, written) = &*shared;
            let number = place.begin();
            place.begin_part();
            place.begin_part();
            let parts = [0, 1].map(|part| {
                let shared = shared.clone();
                thread::spawn(move || {
                    shared.1[part].store(1, Relaxed);
                    // SAFETY: it has begun.
                    unsafe { shared.0.end_part() };
                })
            });
            place.issued();
            if place.is_complete(number) {
                assert!(written.iter().all(|word| word.load(Relaxed) == 1));
            }
            let [first, second] = parts;
            first.join().and(second.join()).unwrap();
        });
    }

    #[test]
    fn an_operation_is_complete_with_its_last_part_and_a_place_used_again_is_of_another() {
        let (context, place) = (Context::default(), Tracked::default());
        let counters = context.counters();
        let count = || {
            let of_context = CompletionCounter::context(counters, counters.peer(0, 1), true);
            place.counter(counters, of_context)
        };
        let first = place.begin();
        let counter = count();
        counter.begin();
        // SAFETY: it has begun.
        unsafe { counter.end() };
        assert!(!place.is_complete(first), "it may have another part");
        counter.begin();
        place.issued();
        assert!(!place.is_complete(first) && !place.is_idle());
        assert_eq!(counters.in_flight(), 1);
        // SAFETY: as above.
        unsafe { counter.end() };
        assert!(place.is_complete(first) && place.is_idle());
        assert_eq!(counters.in_flight(), 0);
        let second = place.begin();
        assert!(place.is_complete(first) && !place.is_complete(second));
    }
}

//! Copies that threads share, and the events that wake them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ferroshmem_core::offload::chunks::{Chunks, Counter};
use ferroshmem_core::offload::events::{self, EventWord};
use ferroshmem_core::wait::{Rest, Word};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, AtomicU64};
use loom::thread;

use super::common::{Cells, ModelWord, beside, model};

/// A counter of chunks.
struct ModelCounter(AtomicU64);

impl Counter for ModelCounter {
    fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn store(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    fn replace(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn add(&self, value: u64) -> u64 {
        self.0.fetch_add(value, Ordering::AcqRel)
    }
}

/// An event counter.
struct ModelEvents(ModelWord);

impl EventWord for ModelEvents {
    fn load(&self) -> u32 {
        self.0.load()
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.0.replace(old, new)
    }

    fn add(&self, value: u32) -> u32 {
        self.0.fetch_add(value)
    }

    fn sleep(&self, expected: u32, _longest: Option<Duration>) {
        self.0.sleep(expected, 1, None, Rest::UNTIL_WOKEN);
    }

    fn wake(&self, _threads: u32) {
        self.0.wake(1);
    }
}

/// Where it says what the chunks are.
const WHAT: usize = 2;
/// Where it says what the signal is.
const SIGNAL: usize = 3;

/// A place for transfers, whose chunks write to an array.
struct ModelPlace {
    chunks: Chunks<ModelCounter>,
    events: ModelEvents,
    /// The array that the chunks write, then what they write.
    cells: Cells,
    /// Whether a signal follows the chunks: a further step, of the thread that finishes the last one.
    is_signalled: bool,
    /// The sum of what the signals added.
    signals: AtomicU32,
    is_closed: AtomicU32,
}

impl ModelPlace {
    fn new() -> Self {
        Self::with_signals(false)
    }

    fn with_signals(is_signalled: bool) -> Self {
        let counter = || ModelCounter(AtomicU64::new(0));
        Self {
            chunks: Chunks::over(counter(), counter()),
            events: ModelEvents(ModelWord::new()),
            cells: Cells::new(),
            is_signalled,
            signals: AtomicU32::new(0),
            is_closed: AtomicU32::new(0),
        }
    }

    fn help(&self) -> bool {
        let Some(chunk) = self.chunks.take() else {
            return false;
        };
        self.cells.write(chunk as usize, self.cells.read(WHAT));
        let count = self.chunks.count();
        if self.chunks.finish() == count && self.is_signalled {
            let value = self.cells.read(SIGNAL);
            self.signals.fetch_add(value, Ordering::AcqRel);
            self.chunks.finish();
        }
        true
    }

    /// What a worker does.
    fn work(&self) {
        let is_closed = || self.is_closed.load(Ordering::Acquire) != 0;
        loop {
            while self.help() {}
            if is_closed() {
                return;
            }
            events::wait(&self.events, None, || self.chunks.remain() || is_closed());
        }
    }

    fn offer(&self, what: u32, chunks: u32) {
        self.cells.write(WHAT, what);
        if self.is_signalled {
            self.cells.write(SIGNAL, what);
        }
        self.chunks.offer(chunks);
        events::post(&self.events, chunks);
    }

    /// Waits for what helpers have taken, and looks at the result.
    fn complete(&self, what: u32, chunks: u32) {
        while self.help() {}
        while self.chunks.finished() != chunks + u32::from(self.is_signalled) {
            thread::yield_now();
        }
        for chunk in 0..chunks as usize {
            assert_eq!(self.cells.read(chunk), what);
        }
    }
}

/// Each chunk is done once, with what its transfer says, though the place is used again at once.
#[test]
fn chunks_are_done_once_and_before_their_transfer_is_complete() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let worker = beside(&place, ModelPlace::work);
        for (what, chunks) in [(7, 2), (8, 1)] {
            place.offer(what, chunks);
            place.complete(what, chunks);
        }
        place.is_closed.store(1, Ordering::Release);
        events::post(&place.events, 1);
        worker.join().unwrap();
    });
}

/// The thread that finishes the last chunk, and no other, adds its transfer's signal, though the place is used again at
/// once.
#[test]
fn a_signal_is_of_its_transfer_and_comes_once() {
    model(2, || {
        let place = Arc::new(ModelPlace::with_signals(true));
        let worker = beside(&place, |place| {
            // As a worker that polls: it may take chunks of both transfers, or of none.
            for _ in 0..2 {
                place.help();
            }
        });
        let mut sum = 0;
        for (what, chunks) in [(7, 2), (8, 1)] {
            place.offer(what, chunks);
            place.complete(what, chunks);
            sum += what;
            assert_eq!(place.signals.load(Ordering::Acquire), sum);
        }
        worker.join().unwrap();
    });
}

/// A helper that sleeps, or is about to, is woken: the thread that offers does nothing itself.
#[test]
fn an_event_wakes_helpers_that_are_about_to_sleep() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let workers: Vec<_> = (0..2)
            .map(|_| {
                beside(&place, |place| {
                    while place.chunks.finished() == 0 && !place.help() {
                        let is_work = || place.chunks.remain() || place.chunks.finished() != 0;
                        events::wait(&place.events, None, is_work);
                    }
                    // As the next transfer would wake the others.
                    events::post(&place.events, 2);
                })
            })
            .collect();
        place.offer(3, 1);
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(place.cells.read(0), 3);
    });
}

/// A thread of OpenMP that waits in a barrier takes chunks, and goes on once all have come: the last one wakes it. The
/// thread that comes last has shared a copy before.
#[test]
fn a_thread_that_is_kept_in_a_barrier_goes_on_when_all_have_come() {
    model(2, || {
        let place = Arc::new(ModelPlace::new());
        let come = Arc::new(AtomicU32::new(0));
        let kept = {
            let (place, come) = (place.clone(), come.clone());
            thread::spawn(move || {
                come.fetch_add(1, Ordering::AcqRel);
                let waits = || come.load(Ordering::Acquire) < 2;
                while waits() {
                    while place.help() {}
                    if waits() {
                        let is_needed = || place.chunks.remain() || !waits();
                        events::wait(&place.events, None, is_needed);
                    }
                }
            })
        };
        place.offer(5, 2);
        place.complete(5, 2);
        come.fetch_add(1, Ordering::AcqRel);
        events::post(&place.events, u32::MAX);
        kept.join().unwrap();
    });
}

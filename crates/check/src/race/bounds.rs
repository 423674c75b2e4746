//! Between which addresses some memory is, which is asked for each load and store.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::hidden::Hidden;

/// The addresses between the lowest and the highest of some memory, hidden.
#[derive(Debug)]
pub(super) struct Bounds {
    low: AtomicUsize,
    high: AtomicUsize,
}

impl Bounds {
    pub(super) fn none() -> Self {
        Self { low: AtomicUsize::new(usize::MAX), high: AtomicUsize::new(0) }
    }

    pub(super) fn add(&self, at: usize, bytes: usize) {
        let start = Hidden::of(at);
        self.low.fetch_min(start.word(), Ordering::Relaxed);
        self.high.fetch_max(start.plus(bytes).word(), Ordering::Relaxed);
    }

    pub(super) fn clear(&self) {
        self.low.store(usize::MAX, Ordering::Relaxed);
        self.high.store(0, Ordering::Relaxed);
    }

    /// The addresses themselves.
    pub(super) fn range(&self) -> Range<usize> {
        let address = |word: &AtomicUsize| Hidden::of(word.load(Ordering::Relaxed)).address();
        address(&self.low)..address(&self.high)
    }
}

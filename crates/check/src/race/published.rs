//! The clocks of all PEs, where the others read them.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::clock;
use crate::layout::race::Layout;

/// The clock of each PE as it is now, and as it was at the ends of its last epochs.
#[derive(Debug)]
pub(super) struct Published {
    clock: usize,
    epochs: usize,
    now: &'static [AtomicU64],
    history: &'static [AtomicU64],
}

impl Published {
    pub(super) fn new(layout: &Layout, words: &'static [AtomicU64]) -> Self {
        Self {
            clock: layout.clock,
            epochs: layout.epochs,
            now: &words[layout.clocks.clone()],
            history: &words[layout.history.clone()],
        }
    }

    /// The clock of a PE as it is now.
    pub(super) fn now(&self, pe: usize) -> &'static [AtomicU64] {
        &self.now[pe * self.clock..][..self.clock]
    }

    fn slot(&self, pe: usize, epoch: u32) -> &'static [AtomicU64] {
        let number = pe * self.epochs + epoch as usize % self.epochs;
        &self.history[number * self.clock..][..self.clock]
    }

    /// Publishes the clock that a PE had at the end of an epoch, before it does what others may see.
    pub(super) fn publish(&self, pe: usize, epoch: u32, known: &[u64]) {
        clock::store(self.now(pe), known);
        clock::store(self.slot(pe, epoch), known);
        fence(Ordering::Release);
    }

    /// The clock that a PE had at the end of an epoch which another has seen; if it is no longer kept, the PE's latest
    /// one, which is later in all components.
    pub(super) fn at(&self, pe: usize, epoch: u32) -> &'static [AtomicU64] {
        fence(Ordering::Acquire);
        let slot = self.slot(pe, epoch);
        match clock::low(slot[pe].load(Ordering::Relaxed)) == epoch {
            true => slot,
            false => self.now(pe),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_that_is_no_longer_kept_is_answered_by_a_later_one() {
        let layout = Layout::new(2);
        let words: Vec<_> = (0..layout.history.end).map(|_| AtomicU64::new(0)).collect();
        let published = Published::new(&layout, words.leak());
        let epochs = layout.epochs as u32;
        let of = |epoch| published.at(1, epoch)[1].load(Ordering::Relaxed);
        for epoch in 1..=epochs + 1 {
            published.publish(1, epoch, &[7, u64::from(epoch)]);
        }
        assert_eq!(of(2), 2);
        assert_eq!(of(1), u64::from(epochs) + 1);
        assert_eq!(published.now(1)[0].load(Ordering::Relaxed), 7);
    }
}

//! The vector clock of a PE: for each PE, up to which of its epochs that PE's accesses happened before.
//!
//! A component is two epochs, since puts are complete after a quiet or fence alone: that of accesses which are complete
//! when their call returns (low half of a word), and that of puts (high half).

use std::sync::atomic::{AtomicU64, Ordering};

/// A component.
fn component(puts: u32, others: u32) -> u64 {
    u64::from(puts) << 32 | u64::from(others)
}

fn puts(component: u64) -> u32 {
    (component >> 32) as u32
}

/// The epoch of accesses that are complete when their call returns.
pub(super) fn others(component: u64) -> u32 {
    component as u32
}

fn latest(a: u64, b: u64) -> u64 {
    component(puts(a).max(puts(b)), others(a).max(others(b)))
}

/// The clock.
#[derive(Debug)]
pub(super) struct Clock {
    me: usize,
    known: Vec<u64>,
    /// The epoch of this PE's next access. The last one does not end: races may be missed after 2^32.
    epoch: u32,
}

impl Clock {
    pub(super) fn new(me: usize, n_pes: usize) -> Self {
        Self { me, known: vec![0; n_pes], epoch: 1 }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The components, by PE.
    pub(super) fn components(&self) -> &[u64] {
        &self.known
    }

    /// Becomes that of the same PE as it is elsewhere.
    pub(super) fn set(&mut self, epoch: u32, known: &[u64]) {
        self.epoch = epoch;
        self.known.copy_from_slice(known);
    }

    /// All puts so far are complete.
    pub(super) fn quiet(&mut self) {
        self.known[self.me] = component(self.epoch, others(self.known[self.me]));
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Ends the epoch: what others learn who see what this PE does now.
    pub(super) fn release(&mut self) -> &[u64] {
        self.known[self.me] = component(puts(self.known[self.me]), self.epoch);
        self.epoch = self.epoch.saturating_add(1);
        &self.known
    }

    /// This PE has seen what another did whose clock this was.
    pub(super) fn acquire(&mut self, other: &[AtomicU64]) {
        for (mine, other) in self.known.iter_mut().zip(other) {
            *mine = latest(*mine, other.load(Ordering::Relaxed));
        }
    }

    /// Whether an access of PE `pe` in `epoch` happened before.
    pub(super) fn is_before(&self, pe: usize, epoch: u32, is_put: bool) -> bool {
        let known = self.known[pe];
        let known = if is_put { puts(known) } else { others(known) };
        pe == self.me || known >= epoch
    }
}

/// Writes a clock where others read it.
pub(super) fn store(to: &[AtomicU64], known: &[u64]) {
    for (word, component) in to.iter().zip(known) {
        word.store(*component, Ordering::Relaxed);
    }
}

/// Joins a clock to those that others have written. One at a time may do so.
pub(super) fn join(to: &[AtomicU64], known: &[u64]) {
    for (word, component) in to.iter().zip(known) {
        let joined = latest(word.load(Ordering::Relaxed), *component);
        word.store(joined, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Vec<AtomicU64> {
        (0..2).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn a_put_is_known_after_a_quiet_alone() {
        let (mut a, mut b) = (Clock::new(0, 2), Clock::new(1, 2));
        let words = shared();
        let put = a.epoch();
        store(&words, a.release());
        b.acquire(&words);
        assert!(b.is_before(0, put, false) && !b.is_before(0, put, true));
        a.quiet();
        store(&words, a.release());
        assert!(!b.is_before(0, put, true));
        b.acquire(&words);
        assert!(b.is_before(0, put, true));
        let later = a.epoch();
        assert!(!b.is_before(0, later, false));
    }

    #[test]
    fn what_several_know_is_joined() {
        let (mut a, mut b) = (Clock::new(0, 2), Clock::new(1, 2));
        let words = shared();
        join(&words, a.release());
        join(&words, b.release());
        let mut c = Clock::new(0, 2);
        c.acquire(&words);
        assert!(c.is_before(1, 1, false));
    }

    #[test]
    fn the_last_epoch_does_not_end() {
        let mut a = Clock::new(0, 1);
        a.epoch = u32::MAX - 1;
        a.quiet();
        a.release();
        a.quiet();
        assert_eq!(a.epoch(), u32::MAX);
    }
}

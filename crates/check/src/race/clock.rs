//! The vector clock of a PE: for each PE, up to which of its epochs that PE's accesses happened before.
//!
//! A component is four epochs, since puts are complete after a quiet or fence of their context alone: in one word that
//! of accesses which are complete when their call returns (low half) and that of puts by the default context (high
//! half), and in another word those of puts by other contexts. The second words are behind the first ones of all PEs.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::layout::race::COMPONENTS;

/// By which context a put goes, as far as that is told apart: the default one, or one of two halves of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Via(u8);

impl Via {
    pub(super) const DEFAULT: Self = Self(0);
    pub(super) const ALL: [Self; 3] = [Self(0), Self(1), Self(2)];

    /// That of the `number`th context of the program.
    pub(super) fn other(number: usize) -> Self {
        Self::ALL[1 + number % 2]
    }

    pub(super) fn number(self) -> usize {
        self.0.into()
    }
}

/// The second epochs of words.
fn high(word: u64) -> u32 {
    (word >> 32) as u32
}

/// The first ones; that of accesses that are complete when their call returns.
pub(super) fn low(word: u64) -> u32 {
    word as u32
}

fn word(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn latest(a: u64, b: u64) -> u64 {
    word(high(a).max(high(b)), low(a).max(low(b)))
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
        Self { me, known: vec![0; COMPONENTS * n_pes], epoch: 1 }
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

    /// The second word of a PE.
    fn second(&self, pe: usize) -> usize {
        self.known.len() / COMPONENTS + pe
    }

    /// All puts by a context so far are complete.
    pub(super) fn quiet(&mut self, via: Via) {
        let (first, second) = (self.me, self.second(self.me));
        let (of, epoch) = (&mut self.known, self.epoch);
        match via {
            Via(0) => of[first] = word(epoch, low(of[first])),
            Via(1) => of[second] = word(high(of[second]), epoch),
            _ => of[second] = word(epoch, low(of[second])),
        }
        self.epoch = self.epoch.saturating_add(1);
    }

    /// Ends the epoch: what others learn who see what this PE does now.
    pub(super) fn release(&mut self) -> &[u64] {
        self.known[self.me] = word(high(self.known[self.me]), self.epoch);
        self.epoch = self.epoch.saturating_add(1);
        &self.known
    }

    /// This PE has seen what another did whose clock this was.
    pub(super) fn acquire(&mut self, other: &[AtomicU64]) {
        for (mine, other) in self.known.iter_mut().zip(other) {
            *mine = latest(*mine, other.load(Ordering::Relaxed));
        }
    }

    /// Whether an access of PE `pe` in `epoch` happened before; `put` is by which context it is a put. Of this PE's own
    /// accesses, too, a put happened before what follows a quiet alone.
    pub(super) fn is_before(&self, pe: usize, epoch: u32, put: Option<Via>) -> bool {
        let known = match put {
            None => low(self.known[pe]),
            Some(Via(0)) => high(self.known[pe]),
            Some(Via(1)) => low(self.known[self.second(pe)]),
            Some(_) => high(self.known[self.second(pe)]),
        };
        (pe == self.me && put.is_none()) || known >= epoch
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
        (0..2 * COMPONENTS).map(|_| AtomicU64::new(0)).collect()
    }

    #[test]
    fn a_put_is_known_after_a_quiet_of_its_context_alone() {
        for via in Via::ALL {
            let (mut a, mut b) = (Clock::new(0, 2), Clock::new(1, 2));
            let words = shared();
            let put = a.epoch();
            for other in Via::ALL.into_iter().filter(|other| *other != via) {
                a.quiet(other);
            }
            store(&words, a.release());
            b.acquire(&words);
            assert!(b.is_before(0, put, None) && !b.is_before(0, put, Some(via)));
            a.quiet(via);
            store(&words, a.release());
            assert!(!b.is_before(0, put, Some(via)));
            b.acquire(&words);
            assert!(b.is_before(0, put, Some(via)));
            let later = a.epoch();
            assert!(!b.is_before(0, later, None));
            // Of its own accesses, a PE knows all but puts.
            assert!(a.is_before(0, put, Some(via)) && a.is_before(0, later, None));
            assert!(!a.is_before(0, later, Some(via)));
        }
    }

    #[test]
    fn what_several_know_is_joined() {
        let (mut a, mut b) = (Clock::new(0, 2), Clock::new(1, 2));
        let words = shared();
        join(&words, a.release());
        join(&words, b.release());
        let mut c = Clock::new(0, 2);
        c.acquire(&words);
        assert!(c.is_before(1, 1, None));
    }

    #[test]
    fn the_last_epoch_does_not_end() {
        let mut a = Clock::new(0, 1);
        a.epoch = u32::MAX - 1;
        a.quiet(Via::DEFAULT);
        a.release();
        a.quiet(Via::DEFAULT);
        assert_eq!(a.epoch(), u32::MAX);
    }
}

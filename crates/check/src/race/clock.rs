//! What a PE knows of the others: for each, up to which of its times its accesses happened before.
//!
//! Two times, since puts are complete after a quiet or fence alone: that of accesses that are complete when their call
//! returns (low half of a word), and that of puts (high half).

use std::sync::atomic::{AtomicU64, Ordering};

/// Times of one PE.
pub(super) fn packed(puts: u32, others: u32) -> u64 {
    u64::from(puts) << 32 | u64::from(others)
}

pub(super) fn puts(word: u64) -> u32 {
    (word >> 32) as u32
}

pub(super) fn others(word: u64) -> u32 {
    word as u32
}

fn latest(a: u64, b: u64) -> u64 {
    packed(puts(a).max(puts(b)), others(a).max(others(b)))
}

/// The times of all PEs, as this one knows them.
#[derive(Debug)]
pub(super) struct Clock {
    me: usize,
    known: Vec<u64>,
    /// The time of this PE's next access.
    now: u32,
}

impl Clock {
    pub(super) fn new(me: usize, n_pes: usize) -> Self {
        Self {
            me,
            known: vec![0; n_pes],
            now: 1,
        }
    }

    pub(super) fn now(&self) -> u32 {
        self.now
    }

    /// All puts so far are complete.
    pub(super) fn quiet(&mut self) {
        self.known[self.me] = packed(self.now, others(self.known[self.me]));
        self.now += 1;
    }

    /// What others learn who see what this PE does now; its next access has another time.
    pub(super) fn release(&mut self) -> (&[u64], u32) {
        let now = self.now;
        self.known[self.me] = packed(puts(self.known[self.me]), now);
        self.now += 1;
        (&self.known, now)
    }

    /// This PE has seen what another did who knew this.
    pub(super) fn acquire(&mut self, words: &[AtomicU64]) {
        for (mine, other) in self.known.iter_mut().zip(words) {
            *mine = latest(*mine, other.load(Ordering::Relaxed));
        }
    }

    /// Whether an access of PE `pe` at `time` happened before.
    pub(super) fn is_before(&self, pe: usize, time: u32, is_put: bool) -> bool {
        let word = self.known[pe];
        let known = if is_put { puts(word) } else { others(word) };
        pe == self.me || known >= time
    }
}

/// Writes what a PE knows where others read it.
pub(super) fn store(words: &[AtomicU64], known: &[u64]) {
    for (word, value) in words.iter().zip(known) {
        word.store(*value, Ordering::Relaxed);
    }
}

/// Adds what a PE knows to what others knew.
pub(super) fn join(words: &[AtomicU64], known: &[u64]) {
    for (word, value) in words.iter().zip(known) {
        word.store(
            latest(word.load(Ordering::Relaxed), *value),
            Ordering::Relaxed,
        );
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
        let put = a.now();
        store(&words, a.release().0);
        b.acquire(&words);
        assert!(b.is_before(0, put, false) && !b.is_before(0, put, true));
        a.quiet();
        store(&words, a.release().0);
        assert!(!b.is_before(0, put, true));
        b.acquire(&words);
        assert!(b.is_before(0, put, true));
        let later = a.now();
        assert!(!b.is_before(0, later, false));
    }

    #[test]
    fn what_several_know_is_added() {
        let (mut a, mut b) = (Clock::new(0, 2), Clock::new(1, 2));
        let words = shared();
        join(&words, a.release().0);
        join(&words, b.release().0);
        let mut c = Clock::new(0, 2);
        c.acquire(&words);
        assert!(c.is_before(1, 1, false));
    }
}

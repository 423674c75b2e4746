//! Noticing that a program polls variables by operations that do not wait.
//!
//! Where PEs outnumber cores, such a loop would keep the core from the PE that is to change the variable, for
//! a time slice each time. So operations on this PE's own memory are not inlined there, and those that read
//! a word count how often they found it unchanged.

use std::cell::RefCell;

use super::POLICY;

/// Words that a program may poll in turn.
const WORDS: usize = 16;
/// Polls at unchanged words in a row, after which each further one gives up the core.
const FREE: u32 = 32;

/// The words that a thread has looked at last, and what they were.
#[derive(Debug)]
struct Polls {
    words: [(usize, u64); WORDS],
    /// Polls in a row at words of these that had not changed.
    unchanged: u32,
}

impl Polls {
    const fn new() -> Self {
        Self { words: [(0, 0); WORDS], unchanged: 0 }
    }

    /// Notes that the word at `address` is `value`; whether the program polls.
    fn note(&mut self, address: usize, value: u64) -> bool {
        let known = self.words.iter_mut().find(|(at, _)| *at == address);
        match known {
            Some((_, before)) if *before == value => {
                self.unchanged = self.unchanged.saturating_add(1);
            }
            Some((_, before)) => {
                *before = value;
                self.unchanged = 0;
            }
            None => {
                self.words.rotate_right(1);
                self.words[0] = (address, value);
                self.unchanged = 0;
            }
        }
        self.unchanged > FREE
    }
}

/// A look at the word at `address`, which is `value`: gives up the core if PEs outnumber cores and the
/// program polls.
#[inline]
pub fn polled(address: usize, value: u64) {
    if POLICY.oversubscribed() {
        note(address, value);
    }
}

#[cold]
fn note(address: usize, value: u64) {
    thread_local! {
        static LOOKS: RefCell<Polls> = const { RefCell::new(Polls::new()) };
    }
    // Threads that end have destroyed theirs, and a signal handler may find it in use.
    let polls = LOOKS.try_with(|looks| {
        let looks = looks.try_borrow_mut();
        looks.is_ok_and(|mut looks| looks.note(address, value))
    });
    if polls.unwrap_or(false) {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_at_unchanged_words_are_polls() {
        let mut looks = Polls::new();
        for _ in 0..=FREE {
            assert!(!looks.note(8, 1));
        }
        assert!(looks.note(8, 1));
        // The word changes: what follows is a new wait.
        assert!(!looks.note(8, 2) && !looks.note(8, 2));
    }

    #[test]
    fn several_words_are_polled_in_turn() {
        let mut looks = Polls::new();
        let round = |looks: &mut Polls| (1..=WORDS).map(|at| looks.note(8 * at, 0)).last();
        for _ in 0..4 {
            round(&mut looks);
        }
        assert_eq!(round(&mut looks), Some(true));
    }

    #[test]
    fn reading_an_array_is_no_poll() {
        let mut looks = Polls::new();
        for round in 0..10 {
            for at in 1..1000 {
                assert!(!looks.note(8 * at, 0), "round {round}");
            }
        }
        // Nor is counting up.
        for value in 0..1000 {
            assert!(!looks.note(8, value));
        }
    }
}

//! A counter of posts that returns to zero: the work arrays (`pSync`) of active sets,
//! which a collective must leave as it found them.

use super::word::{ASLEEP, wait_once};
use super::{WaitStrategy, Word};
use crate::futex::ANY;

/// What a post adds.
pub const ONE: u32 = 2;

/// Whether there is a post to take.
#[inline]
pub fn has_post(word: &impl Word) -> bool {
    word.load() >= ONE
}

/// Adds one post and wakes the waiter if it sleeps. Releases all earlier writes.
#[inline]
pub fn post(word: &impl Word) {
    if word.fetch_add(ONE) & ASLEEP != 0 {
        word.wake(ANY);
    }
}

/// Waits for a post and takes it away, unless the strategy gives up. Only one thread waits on a counter at a time.
#[inline]
pub fn take(word: &impl Word, strategy: &mut impl WaitStrategy) {
    loop {
        let seen = word.load();
        if seen >= ONE {
            if word.replace(seen, (seen - ONE) & !ASLEEP) {
                return;
            }
            continue;
        }
        if !wait_once(word, seen, strategy) {
            return;
        }
    }
}

//! A flag: a 31-bit value that one PE posts and others wait for.
//!
//! A wait that its strategy gives up returns as if the flag had been posted. That is so with PEs of a connection of
//! which a group has ended, and of a team of which a member has failed: who waits for them looks afterwards whether
//! that has happened.

use super::word::{ASLEEP, wait_once};
use super::{WaitStrategy, Word};
use crate::futex::ANY;

/// Bits of a flag's value.
pub const VALUE: u32 = u32::MAX >> 1;

/// Whether `value` is `target` or was posted after it (values count up and wrap).
#[inline]
pub fn reached(value: u32, target: u32) -> bool {
    value.wrapping_sub(target) & VALUE <= VALUE / 2
}

/// Sets the flag to `value` and wakes the PEs that sleep on it. Releases all earlier writes.
#[inline]
pub fn post(word: &impl Word, value: u32) {
    if word.swap(value << 1) & ASLEEP != 0 {
        word.wake(ANY);
    }
}

/// What the flag shows.
#[inline]
pub fn value(word: &impl Word) -> u32 {
    word.load() >> 1
}

/// Waits until the flag shows `value`. Acquires what its poster released. `strategy` is
/// called only if the flag does not show it yet.
///
/// Not "`value` or a later one": values wrap, so a flag that was last posted half a round of the
/// counter ago could show an old value or one to come.
#[inline]
pub fn wait<P: WaitStrategy>(word: &impl Word, value: u32, strategy: impl FnOnce() -> P) {
    wait_until(word, strategy, |seen| seen == value & VALUE);
}

/// Waits until the flag does not show `old` any more. Acquires what its poster released.
#[inline]
pub fn wait_until_changed<P: WaitStrategy>(word: &impl Word, old: u32, strategy: impl FnOnce() -> P) {
    wait_until(word, strategy, |seen| seen != old);
}

/// Waits until the flag shows `value` or a later one. Acquires what its poster released. For
/// flags that are never far behind: see [`wait`].
#[inline]
pub fn wait_for_at_least<P: WaitStrategy>(word: &impl Word, value: u32, strategy: impl FnOnce() -> P) {
    wait_until(word, strategy, |seen| reached(seen, value));
}

#[inline]
fn wait_until<P: WaitStrategy>(word: &impl Word, strategy: impl FnOnce() -> P, is_enough: impl Fn(u32) -> bool) {
    let seen = word.load();
    if !is_enough(seen >> 1) {
        wait_longer(word, seen, &mut strategy(), is_enough);
    }
}

#[inline]
fn wait_longer(word: &impl Word, mut seen: u32, strategy: &mut impl WaitStrategy, is_enough: impl Fn(u32) -> bool) {
    let mut spins = strategy.spins();
    loop {
        if !spins.again() && !wait_once(word, seen, strategy) {
            return;
        }
        seen = word.load();
        if is_enough(seen >> 1) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_wrap() {
        assert!(reached(5, 5) && reached(6, 5) && !reached(4, 5));
        assert!(reached(0, VALUE) && reached(3, VALUE - 3) && !reached(VALUE, 0));
    }
}

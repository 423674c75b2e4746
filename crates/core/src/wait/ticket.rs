//! A ticket lock: first come, first served, two 32-bit words.

use super::{Next, WaitStrategy, Word};

/// Waiters sleep on the word of the ticket being served, each on a bit of its own ticket,
/// so that a release wakes the next one only.
#[inline]
fn bit(ticket: u32) -> u32 {
    1 << (ticket % 32)
}

/// Takes the lock: draws a ticket from `next`, waits until `serving` shows it. `strategy`
/// is made only if the lock is not free.
#[inline]
pub fn acquire<P: WaitStrategy>(
    next: &impl Word,
    serving: &impl Word,
    strategy: impl FnOnce() -> P,
) {
    let ticket = next.fetch_add(1);
    if serving.load() != ticket {
        wait_for_turn(serving, ticket, &mut strategy());
    }
}

#[cold]
fn wait_for_turn(serving: &impl Word, ticket: u32, strategy: &mut impl WaitStrategy) {
    loop {
        let seen = serving.load();
        if seen == ticket {
            return;
        }
        match strategy.after_idle_poll() {
            Next::Poll => {}
            Next::Watch => serving.watch(seen),
            Next::Sleep => serving.sleep(seen, bit(ticket)),
        }
    }
}

/// Gives the lock back, to the next ticket if one was drawn. The full barrier of the
/// atomic add puts the read of `next` after the release, so that a waiter whose ticket this read
/// misses drew it later and sees the lock free.
#[inline]
pub fn release(next: &impl Word, serving: &impl Word) {
    let now = serving.fetch_add(1).wrapping_add(1);
    // An atomic read-modify-write, not a load: it cannot be ordered before the one above.
    if next.fetch_add(0) != now {
        serving.wake(bit(now));
    }
}

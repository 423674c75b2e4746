//! A lock in one 64-bit word, for PEs that share memory. Waiters draw tickets and are served in their order.
//!
//! Where each PE has a core, a release grants the lock to the first waiter. Where PEs outnumber cores, the
//! first waiter is rarely running, and each grant would cost the switches until the scheduler comes to it. So
//! a release leaves the lock open there, and PEs that run may overtake the first waiter: a few times,
//! within some microseconds since it became the first. A first waiter that sleeps is woken by the first such
//! release, and takes the lock itself if it finds it open. When the limit is reached, the lock is granted
//! to it. Critical sections that are longer than the limit are entered in the order of the tickets alone.
//!
//! | bits | field | |
//! |---|---|---|
//! | 0 | `HELD` | a PE holds the lock, or it was granted to one |
//! | 1, 2 | `FIRST_SLEEPS` | the first waiter sleeps on the low half: a bit for even tickets, one for odd ones |
//! | 3 to 7 | overtaken | how often PEs have overtaken the first waiter |
//! | 8 to 25 | next | the next ticket to draw |
//! | 32 | `SLEEPERS` | other waiters sleep on the high half, each on a bit of its own ticket |
//! | 33 to 50 | turn | the first waiter's ticket; the one before it was granted the lock |
//! | 51 to 63 | since | when it became the first, by the clock of [`Fairness`] |
//!
//! The word is 0 when the lock is free and no PE waits, and `HELD` alone when a PE holds it and none waits. So taking
//! and releasing such a lock are one compare-exchange each. `include/shmem/native.h` compiles these into programs,
//! which makes 0 a part of the binary interface, and `HELD` of programs that are native only.
//!
//! All changes of the word are compare-exchanges of the whole, hence in one total order. No wake-up is lost: the
//! first waiter sets `FIRST_SLEEPS` while the lock is held; each release clears it and wakes the
//! sleeper, or comes before the bit was set, so that the compare-exchange that sets it fails. The next first
//! waiter sets the other bit, so the half on which it sleeps is not what one compares that was granted the lock
//! just before it slept; that one's release comes before any third one is the first. Other waiters
//! sleep on the high half, which changes when a ticket becomes the first; who changes it wakes that one if
//! `SLEEPERS` is set, and only the release that finds no waiter clears that bit.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use ferroshmem_platform::watch;

use super::{Fairness, Next, Rest, WaitStrategy};
use crate::futex::{self, ANY};

/// Half of a lock's word, on which waiters sleep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// Bits 0 to 31.
    Low = 0,
    /// Bits 32 to 63.
    High = 1,
}

/// What a lock needs of its word. The model checker brings its own.
pub trait LockWord {
    /// Reads with acquire order.
    fn load(&self) -> u64;
    /// Replaces `old` by `new` if it is still there, acquire and release; else what is there.
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64>;
    /// Polls for a moment while the word is `seen`, or lets the processor watch it; may return early.
    fn watch(&self, seen: u64);
    /// Sleeps while a half of the word is that of `expected`, until it is woken by one of `bits` or as `rest`
    /// says; may return early.
    fn sleep(&self, half: Half, expected: u64, bits: u32, rest: Rest);
    /// Wakes the sleepers on a half that share one of `bits`.
    fn wake(&self, half: Half, bits: u32);
}

/// Periods in which a first waiter may be overtaken.
const PERIODS: u64 = 2;

/// What a lock is that a PE holds, and none waits for.
pub const HELD: u64 = 1;
const FIRST_SLEEPS: u64 = 3 << 1;
const SLEEPERS: u64 = 1 << 32;
/// All tickets: more than the threads of a node that can wait at once.
const TICKETS: u64 = (1 << 18) - 1;

/// A range of bits of the word.
#[derive(Clone, Copy)]
struct Field {
    shift: u32,
    mask: u64,
}

const OVERTAKEN: Field = Field { shift: 3, mask: 31 };
const NEXT: Field = Field { shift: 8, mask: TICKETS };
const TURN: Field = Field { shift: 33, mask: TICKETS };
const SINCE: Field = Field { shift: 51, mask: (1 << 13) - 1 };

impl Field {
    fn of(self, word: u64) -> u64 {
        word >> self.shift & self.mask
    }

    fn set(self, word: u64, value: u64) -> u64 {
        word & !(self.mask << self.shift) | (value & self.mask) << self.shift
    }
}

fn has_waiters(word: u64) -> bool {
    NEXT.of(word) != TURN.of(word)
}

/// Begins the time of a first waiter.
fn with_first(word: u64, now: u64) -> u64 {
    SINCE.set(OVERTAKEN.set(word, 0), now)
}

/// The lock goes to the first waiter; the next one, if there is one, becomes the first.
fn granted(word: u64, now: u64) -> u64 {
    let word = TURN.set(word, TURN.of(word) + 1);
    with_first((word | HELD) & !FIRST_SLEEPS, now)
}

/// The bit of a ticket's sleeper.
fn bit(ticket: u64) -> u32 {
    1 << (ticket % 32)
}

/// Wakes the waiter that has become the first in `word`, if it may sleep.
fn wake_new_first(lock: &impl LockWord, word: u64) {
    if word & SLEEPERS != 0 && has_waiters(word) {
        lock.wake(Half::High, bit(TURN.of(word)));
    }
}

/// Takes the lock if it is free and no PE waits; returns whether it did.
#[inline]
pub fn try_acquire(lock: &impl LockWord) -> bool {
    lock.replace(0, HELD).is_ok()
}

/// Takes the lock. `strategy` is made only if another PE holds it.
#[inline]
pub fn acquire<P: WaitStrategy>(lock: &impl LockWord, fairness: Fairness, strategy: impl FnOnce() -> P) {
    if let Err(seen) = lock.replace(0, HELD)
        && let Some(ticket) = take_or_draw(lock, fairness, seen)
    {
        wait_for_turn(lock, fairness, ticket, &mut strategy());
    }
}

/// Takes the lock if it is open, else draws a ticket.
#[cold]
fn take_or_draw(lock: &impl LockWord, fairness: Fairness, mut seen: u64) -> Option<u64> {
    loop {
        let overtaken = OVERTAKEN.of(seen);
        let is_free = seen & HELD == 0;
        let (new, ticket) = if is_free && !has_waiters(seen) {
            (HELD, None)
        } else if is_free && overtaken < u64::from(fairness.overtakes) {
            (OVERTAKEN.set(seen, overtaken + 1) | HELD, None)
        } else {
            let ticket = NEXT.of(seen);
            let drawn = NEXT.set(seen, ticket + 1);
            let drawn = if has_waiters(seen) { drawn } else { with_first(drawn, (fairness.clock)()) };
            (drawn, Some(ticket))
        };
        match lock.replace(seen, new) {
            Ok(_) => return ticket,
            Err(now) => seen = now,
        }
    }
}

#[cold]
fn wait_for_turn(lock: &impl LockWord, fairness: Fairness, ticket: u64, strategy: &mut impl WaitStrategy) {
    let mut is_first = false;
    loop {
        let seen = lock.load();
        let (half, asleep, bits) = if TURN.of(seen) == ticket {
            if seen & HELD == 0 {
                let taken = granted(seen, (fairness.clock)());
                if lock.replace(seen, taken).is_ok() {
                    return wake_new_first(lock, taken);
                }
                continue;
            }
            if !is_first {
                is_first = true;
                strategy.restart();
            }
            (Half::Low, 1 << (1 + ticket % 2), ANY)
        } else if TURN.of(seen) == (ticket + 1) & TICKETS {
            return;
        } else {
            (Half::High, SLEEPERS, bit(ticket))
        };
        match strategy.after_idle_poll() {
            Next::Poll | Next::GiveUp => {}
            Next::Watch => lock.watch(seen),
            Next::Sleep(rest) => {
                if seen & asleep != 0 || lock.replace(seen, seen | asleep).is_ok() {
                    lock.sleep(half, seen | asleep, bits, rest);
                }
            }
        }
    }
}

/// Gives the lock back. Releases all earlier writes. A lock that no PE holds stays as it is.
#[inline]
pub fn release(lock: &impl LockWord, fairness: Fairness) {
    if let Err(seen) = lock.replace(HELD, 0) {
        release_to_waiters(lock, fairness, seen);
    }
}

#[cold]
fn release_to_waiters(lock: &impl LockWord, fairness: Fairness, mut seen: u64) {
    while seen & HELD != 0 {
        let (new, is_granted) = if !has_waiters(seen) {
            (0, false)
        } else if may_overtake(seen, fairness) {
            (seen & !(HELD | FIRST_SLEEPS), false)
        } else {
            (granted(seen, (fairness.clock)()), true)
        };
        match lock.replace(seen, new) {
            Err(now) => seen = now,
            Ok(_) => {
                if seen & FIRST_SLEEPS != 0 {
                    lock.wake(Half::Low, ANY);
                }
                if is_granted {
                    wake_new_first(lock, new);
                }
                return;
            }
        }
    }
}

/// Whether a PE may take the lock before the first waiter.
fn may_overtake(word: u64, fairness: Fairness) -> bool {
    OVERTAKEN.of(word) < u64::from(fairness.overtakes)
        && (fairness.clock)().wrapping_sub(SINCE.of(word)) & SINCE.mask < PERIODS
}

fn half(lock: &AtomicU64, half: Half) -> &AtomicU32 {
    let index = half as usize ^ usize::from(cfg!(target_endian = "big"));
    // SAFETY: one of the two halves of the word; the kernel alone reads it.
    unsafe { &*lock.as_ptr().cast::<AtomicU32>().add(index) }
}

impl LockWord for AtomicU64 {
    #[inline]
    fn load(&self) -> u64 {
        self.load(Ordering::Acquire)
    }

    #[inline]
    fn replace(&self, old: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
    }

    fn watch(&self, seen: u64) {
        let at = self.as_ptr().cast_const().cast();
        // SAFETY: the word is.
        unsafe { watch(at, &mut || self.load(Ordering::Acquire) == seen) };
    }

    fn sleep(&self, which: Half, expected: u64, bits: u32, rest: Rest) {
        let expected = match which {
            Half::Low => expected,
            Half::High => expected >> 32,
        };
        rest.sleep(half(self, which), expected as u32, bits, None);
    }

    fn wake(&self, which: Half, bits: u32) {
        futex::wake(half(self, which), bits);
    }
}

//! The time of recorded calls: `CLOCK_MONOTONIC`, by the processor's time-stamp counter where the kernel keeps its own
//! time by it. A look at the counter takes a third of a call of `clock_gettime`.
//!
//! Each thread looks at the clock once in about a millisecond, and takes the time between from the counter, at the rate
//! that the counter had in the last such interval. So it follows the kernel's corrections, and is off by the duration
//! of a look at most.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::wait::record::now_ns;

/// Whether the counter is used.
static BY_COUNTER: AtomicBool = AtomicBool::new(false);

/// Ticks between two looks at the clock: one to four milliseconds.
const SPAN: u64 = 1 << 22;
/// Ticks after which the rate is not measured any more: the machine may have slept.
const LONG: u64 = 1 << 32;
/// Ticks that a look at the clock takes at most, else the thread was interrupted meanwhile.
const LOOK: u64 = 2000;

/// What a thread has seen of both.
#[derive(Debug, Clone, Copy)]
struct Anchor {
    ticks: u64,
    /// The clock then, and what was given as time, which never goes back.
    real: u64,
    given: u64,
    /// Nanoseconds per tick, times 2^32; 0 if it is not known yet.
    rate: u64,
}

thread_local! {
    static ANCHOR: Cell<Anchor> = const { Cell::new(Anchor { ticks: 0, real: 0, given: 0, rate: 0 }) };
}

/// Finds out whether the kernel trusts the counter: constant in rate, and the same on all cores.
pub(super) fn start() {
    const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let is_trusted =
        cfg!(target_arch = "x86_64") && std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc");
    BY_COUNTER.store(is_trusted, Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn ticks() -> u64 {
    0
}

/// Nanoseconds of the clock.
#[inline]
pub(super) fn now() -> u64 {
    if !BY_COUNTER.load(Ordering::Relaxed) {
        return now_ns();
    }
    let (at, anchor) = (ticks(), ANCHOR.get());
    let since = at.wrapping_sub(anchor.ticks);
    if since < SPAN && anchor.rate != 0 {
        return anchor.after(since);
    }
    look(anchor)
}

/// Looks at the clock, and at the rate of the counter.
#[cold]
fn look(anchor: Anchor) -> u64 {
    let before = ticks();
    let real = now_ns();
    let took = ticks().wrapping_sub(before);
    if took > LOOK {
        return real.max(anchor.least(before));
    }
    let at = before + took / 2;
    let next = anchor.next(at, real);
    if next.ticks != anchor.ticks {
        ANCHOR.set(next);
    }
    next.given.max(real)
}

impl Anchor {
    /// The time so many ticks later.
    #[inline]
    fn after(&self, ticks: u64) -> u64 {
        self.given + ((ticks * self.rate) >> 32)
    }

    /// What the time has been at most, so that it does not go back.
    fn least(&self, at: u64) -> u64 {
        let since = at.wrapping_sub(self.ticks);
        if since < 2 * SPAN { self.after(since) } else { self.given }
    }

    /// What is used from now on, when the clock is `real`.
    fn next(&self, at: u64, real: u64) -> Self {
        let since = at.wrapping_sub(self.ticks);
        if self.ticks != 0 && since < SPAN {
            // Too short for a rate.
            return *self;
        }
        let mut next = Self { ticks: at, real, given: real.max(self.least(at)), rate: 0 };
        if self.ticks == 0 || since >= LONG || real <= self.real {
            return next;
        }
        let measured = ((real - self.real) << 32) / since;
        if self.rate != 0 && measured.abs_diff(self.rate) > self.rate / 256 {
            return next;
        }
        // Time that has run ahead of the clock goes slower now.
        let ahead = next.given.saturating_sub(real);
        next.rate = measured - ((ahead << 32) / SPAN).min(measured / 512);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_followed() {
        start();
        let begin = std::time::Instant::now();
        while begin.elapsed().as_millis() < 20 {
            let (before, now, after) = (now_ns(), now(), now_ns());
            // The machine may stop this thread at any place, and the hypervisor the machine.
            let off = before.saturating_sub(now).max(now.saturating_sub(after));
            assert!(off < 5_000_000, "off by {off} ns");
        }
    }

    #[test]
    fn the_rate_is_the_last_intervals() {
        let first = Anchor { ticks: 0, real: 0, given: 0, rate: 0 };
        // Three ticks a nanosecond, then a clock that goes faster by a thousandth.
        let second = first.next(3_000_000_000, 1_000_000_000);
        assert_eq!((second.rate, second.given), (0, 1_000_000_000));
        let third = second.next(3_000_000_000 + 3 * SPAN, 1_000_000_000 + SPAN);
        assert_eq!(third.rate, (1 << 32) / 3);
        let at = third.ticks + SPAN;
        let fourth = third.next(at, third.real + SPAN * 1001 / 3000);
        assert!(fourth.rate > third.rate);
        assert!(fourth.given >= third.after(SPAN));
        // The clock goes slower: the time waits for it, and goes on.
        let fifth = fourth.next(fourth.ticks + SPAN, fourth.real + SPAN * 999 / 3000);
        assert!(fifth.given >= fourth.after(SPAN) && fifth.rate != 0);
        assert!(fifth.given > fifth.real && fifth.rate < (1 << 32) / 3);
        // The machine has slept.
        let woken = fifth.next(fifth.ticks + LONG, fifth.real + 1000);
        assert_eq!(woken.rate, 0);
    }
}

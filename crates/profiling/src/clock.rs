//! The time of recorded calls: `CLOCK_MONOTONIC`, by the processor's counter where the kernel keeps its own time by it:
//! the time-stamp counter of x86-64, the generic timer of Arm. A look at the counter takes a third of a call of
//! `clock_gettime`.
//!
//! Each thread looks at the clock once in some milliseconds, and takes the time between from the counter, at the rate
//! that the counter had in the last such interval. So it follows the kernel's corrections, and is off by the duration
//! of a look at most.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use ferroshmem_core::wait::record::now_ns;

/// Ticks between two looks at the clock: one to four milliseconds. 0 if the counter is not used.
static SPAN: AtomicU64 = AtomicU64::new(0);

/// Ticks after which the rate is not measured any more: the machine may have slept.
const fn long(span: u64) -> u64 {
    span << 10
}

/// Ticks that a look at the clock takes at most, else the thread was interrupted meanwhile.
const fn look_of(span: u64) -> u64 {
    span >> 11
}

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

/// Finds out whether the counter is one to rely on.
pub(super) fn start() {
    SPAN.store(counter::span(), Ordering::Relaxed);
}

#[cfg(target_arch = "x86_64")]
mod counter {
    /// Its span if the kernel trusts it: constant in rate, and the same on all cores.
    pub(super) fn span() -> u64 {
        const SOURCE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let is_trusted = std::fs::read_to_string(SOURCE).is_ok_and(|source| source.trim() == "tsc");
        u64::from(is_trusted) << 22
    }

    #[inline]
    pub(super) fn ticks() -> u64 {
        // SAFETY: every x86-64 processor has the instruction.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    use std::arch::asm;

    /// Its span by the frequency that the firmware gives, if it does: some counters have 24 million ticks a second,
    /// some a thousand million. The architecture has it constant in rate, and the same on all cores. Where it is
    /// neither, the kernel takes the instruction from programs, and corrects what it reads for them.
    pub(super) fn span() -> u64 {
        let frequency: u64;
        // SAFETY: Linux lets programs read the register.
        unsafe { asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack, preserves_flags)) };
        frequency >> 9
    }

    #[inline]
    pub(super) fn ticks() -> u64 {
        let ticks: u64;
        // SAFETY: as above.
        unsafe { asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags)) };
        ticks
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) fn span() -> u64 {
        0
    }

    pub(super) fn ticks() -> u64 {
        0
    }
}

/// Nanoseconds of the clock.
#[inline]
pub(super) fn now() -> u64 {
    let span = SPAN.load(Ordering::Relaxed);
    if span == 0 {
        return now_ns();
    }
    let (at, anchor) = (counter::ticks(), ANCHOR.get());
    let since = at.wrapping_sub(anchor.ticks);
    if since < span && anchor.rate != 0 {
        return anchor.after(since);
    }
    look(anchor, span)
}

/// Looks at the clock, and at the rate of the counter.
#[cold]
fn look(anchor: Anchor, span: u64) -> u64 {
    let before = counter::ticks();
    let real = now_ns();
    let took = counter::ticks().wrapping_sub(before);
    if took > look_of(span) {
        return real.max(anchor.least(before, span));
    }
    let at = before + took / 2;
    let next = anchor.next(at, real, span);
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
    fn least(&self, at: u64, span: u64) -> u64 {
        let since = at.wrapping_sub(self.ticks);
        if since < 2 * span { self.after(since) } else { self.given }
    }

    /// What is used from now on, when the clock is `real`.
    fn next(&self, at: u64, real: u64, span: u64) -> Self {
        let since = at.wrapping_sub(self.ticks);
        if self.ticks != 0 && since < span {
            // Too short for a rate.
            return *self;
        }
        let mut next = Self { ticks: at, real, given: real.max(self.least(at, span)), rate: 0 };
        // More than four seconds if the clock went back.
        let passed = real.wrapping_sub(self.real);
        if self.ticks == 0 || since >= long(span) || !(1..1 << 32).contains(&passed) {
            return next;
        }
        let measured = (passed << 32) / since;
        if self.rate != 0 && measured.abs_diff(self.rate) > self.rate / 256 {
            return next;
        }
        // Time that has run ahead of the clock goes slower now.
        let ahead = next.given.saturating_sub(real);
        next.rate = measured - ((ahead << 32) / span).min(measured / 512);
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
    #[cfg(target_arch = "aarch64")]
    fn the_generic_timer_has_the_rate_that_it_names() {
        let span = counter::span();
        let (begin, ticks) = (std::time::Instant::now(), counter::ticks());
        while counter::ticks() - ticks < 10 * span {}
        // The span is 1/512 of a second.
        let expected = 10.0 / 512.0;
        let took = begin.elapsed().as_secs_f64();
        assert!(took > 0.999 * expected, "{took} s of {expected}");
    }

    /// Counters of x86-64, and of Arm with 24 million ticks a second.
    #[test]
    fn the_rate_is_the_last_intervals() {
        for (span, per_second) in [(1_u64 << 22, 3_000_000_000_u64), (24_000_000 >> 9, 24_000_000)] {
            let ns = |ticks: u64| (u128::from(ticks) * 1_000_000_000 / u128::from(per_second)) as u64;
            let first = Anchor { ticks: 0, real: 0, given: 0, rate: 0 };
            let second = first.next(per_second, 1_000_000_000, span);
            assert_eq!((second.rate, second.given), (0, 1_000_000_000));
            // Then a clock that goes faster by a thousandth.
            let third = second.next(per_second + 3 * span, 1_000_000_000 + ns(3 * span), span);
            let exact = ((1_000_000_000_u128 << 32) / u128::from(per_second)) as u64;
            assert!(third.rate.abs_diff(exact) < exact / 100_000, "{} for {exact}", third.rate);
            let fourth = third.next(third.ticks + span, third.real + ns(span) * 1001 / 1000, span);
            assert!(fourth.rate > third.rate);
            assert!(fourth.given >= third.after(span));
            // The clock goes slower: the time waits for it, and goes on.
            let fifth = fourth.next(fourth.ticks + span, fourth.real + ns(span) * 999 / 1000, span);
            assert!(fifth.given >= fourth.after(span) && fifth.rate != 0);
            assert!(fifth.given > fifth.real && fifth.rate < exact);
            // The machine has slept.
            let woken = fifth.next(fifth.ticks + long(span), fifth.real + 1000, span);
            assert_eq!(woken.rate, 0);
        }
    }
}

//! Which way of copying is the fastest where the program runs: found out beside its own large copies.
//!
//! Which it is depends on the processor, on the part of the last-level cache that this machine has, on what other PEs
//! copy, and on who reads the copy: what went past the caches comes from memory then. So a trial is some copies of one
//! method, and it takes until the next copy after them begins. That contains what the program does with the data, and
//! what it waits for. Where this is long beside a copy, the method hardly matters.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

/// A way to copy many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Method {
    /// Through the caches.
    Through,
    /// Past the caches, by non-temporal stores.
    Past,
    /// Past the caches, four pages at a time.
    PastByPages,
}

pub(super) const METHODS: [Method; 3] = [Method::Through, Method::Past, Method::PastByPages];
/// How many copies are made by a method: before the first trial, for page faults, and until the caches hold what they
/// will hold, without which the usual method would never show what it takes in the long run; before another trial, if
/// the method before was another one, which left its data in the caches or in memory; and in a trial.
const COPIES: [usize; 3] = [16, 4, 4];
/// The same of copies of at least [`VERY_LARGE`] bytes: one replaces what a cache of a core holds, and takes so long
/// that an interruption hardly matters.
const COPIES_VERY_LARGE: [usize; 3] = [4, 1, 2];
/// See [`COPIES_VERY_LARGE`].
const VERY_LARGE: usize = 16 << 20;
/// One of so many trials is of another method, and of the early ones.
const OTHERS: [u32; 2] = [48, 12];
/// A method that takes longer than the best one by more than this part gets one of so many of these trials.
const SLOW: (u64, u32) = (5, 4);
/// Trials that are early.
const EARLY: u32 = 96;
/// By which part of it a cost rises at most with a trial, as a trial may contain an interruption.
const RISE: u64 = 32;
/// The usual method is kept unless another one saves more than this part of the time: a trial does not show what the
/// caches hold after hundreds of copies by one method.
const GAIN: u64 = 20;

/// The choice for copies of about as many bytes. Threads that copy at the same time may lose a count.
#[derive(Debug)]
pub(super) struct Choice {
    method: AtomicU8,
    trials: AtomicU32,
    /// Bytes copied in this trial, or before it.
    copied: AtomicUsize,
    /// When it began, in nanoseconds; 0: not yet.
    began: AtomicU64,
    /// Nanoseconds for a MiB by each method; 0: unknown.
    costs: [AtomicU64; METHODS.len()],
}

impl Choice {
    pub(super) const fn new() -> Self {
        Self {
            method: AtomicU8::new(0),
            trials: AtomicU32::new(0),
            copied: AtomicUsize::new(usize::MAX),
            began: AtomicU64::new(0),
            costs: [const { AtomicU64::new(0) }; METHODS.len()],
        }
    }

    /// The method of the trial.
    pub(super) fn method(&self) -> Method {
        METHODS[usize::from(self.method.load(Ordering::Relaxed))]
    }

    /// Counts a copy of `bytes` bytes, a part of `whole`, which begins now; its method. `usual` is that of a machine
    /// of which nothing else is known.
    pub(super) fn count(&self, bytes: usize, whole: usize, usual: Method, now: impl FnOnce() -> u64) -> Method {
        let copied = self.copied.load(Ordering::Relaxed);
        let began = self.began.load(Ordering::Relaxed);
        let [first, before, trial] = if whole < VERY_LARGE { COPIES } else { COPIES_VERY_LARGE };
        let copies = match began {
            0 if self.trials.load(Ordering::Relaxed) <= 1 => first,
            0 => before,
            _ => trial,
        };
        if copied < whole.saturating_mul(copies) {
            self.copied.store(copied + bytes, Ordering::Relaxed);
            return self.method();
        }
        let now = now().max(1);
        let before = self.method();
        if began != 0 {
            self.end_trial(copied, now.saturating_sub(began));
        }
        if began != 0 || copied == usize::MAX {
            self.method.store(self.next(usual) as u8, Ordering::Relaxed);
        }
        let is_same = copied != usize::MAX && self.method() == before;
        self.began.store(if is_same { now } else { 0 }, Ordering::Relaxed);
        self.copied.store(bytes, Ordering::Relaxed);
        self.method()
    }

    fn end_trial(&self, copied: usize, nanoseconds: u64) {
        let mib = (copied >> 20).max(1) as u64;
        let cost = &self.costs[self.method() as usize];
        let before = cost.load(Ordering::Relaxed);
        let limit = match before {
            0 => u64::MAX,
            _ => before + before / RISE + 1,
        };
        cost.store((nanoseconds / mib).clamp(1, limit), Ordering::Relaxed);
    }

    fn next(&self, usual: Method) -> Method {
        let trial = self.trials.load(Ordering::Relaxed);
        self.trials.store(trial.wrapping_add(1), Ordering::Relaxed);
        let after = |method: Method, by: u32| METHODS[(method as usize + by as usize) % METHODS.len()];
        let all = METHODS.len() as u32;
        if trial < all {
            return after(usual, trial);
        }
        let cost = |method: Method| self.costs[method as usize].load(Ordering::Relaxed);
        let fastest = METHODS.into_iter().min_by_key(|method| cost(*method)).unwrap_or(usual);
        let gains = cost(fastest) + cost(usual) / GAIN < cost(usual);
        let best = if gains { fastest } else { usual };
        let others = OTHERS[usize::from(trial < EARLY)];
        let turn = trial / others;
        let other = after(best, 1 + turn % (all - 1));
        let is_slow = cost(other) > cost(best) + cost(best) / SLOW.0;
        let is_due = trial.is_multiple_of(others) && (!is_slow || (turn / (all - 1)).is_multiple_of(SLOW.1));
        if is_due { other } else { best }
    }
}

/// Nanoseconds since the first call.
pub(super) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: usize = 8 << 20;

    /// Copies `count` times by the methods that `choice` names, each of which takes as many nanoseconds as `costs`
    /// says; how often each was used.
    fn copies(
        choice: &Choice,
        usual: Method,
        clock: &mut u64,
        count: u64,
        costs: impl Fn(u64) -> [u64; 3],
    ) -> [u64; 3] {
        let mut used = [0; 3];
        for copy in 0..count {
            let method = choice.count(BYTES, BYTES, usual, || *clock) as usize;
            used[method] += 1;
            *clock += costs(copy)[method];
        }
        used
    }

    #[test]
    fn the_fastest_method_is_used() {
        for (fastest, costs) in [[60, 90, 80], [90, 60, 80], [90, 80, 60]].into_iter().enumerate() {
            for usual in METHODS {
                let used = copies(&Choice::new(), usual, &mut 0, 10_000, |_| costs.map(|cost| cost * 10_000));
                assert!(used[fastest] >= 9_200, "{used:?} of {costs:?}, usually {usual:?}");
            }
        }
    }

    #[test]
    fn a_gain_that_does_not_matter_changes_nothing() {
        let used = copies(&Choice::new(), Method::Past, &mut 0, 10_000, |_| [950_000, 1_000_000, 1_000_000]);
        assert!(used[Method::Past as usize] >= 9_200, "{used:?}");
    }

    #[test]
    fn page_faults_and_interruptions_do_not_decide() {
        let used = copies(&Choice::new(), Method::Through, &mut 0, 10_000, |copy| {
            let extra = if copy < 4 || copy % 100 == 7 { 50_000_000 } else { 0 };
            [600_000 + extra, 700_000 + extra, 700_000 + extra]
        });
        assert!(used[Method::Through as usize] >= 9_000, "{used:?}");
    }

    #[test]
    fn what_many_copies_by_a_method_leave_in_the_caches_counts_for_it() {
        let (choice, mut clock, mut in_a_row) = (Choice::new(), 0, 0);
        let used = (0..10_000).filter(|_| {
            let method = choice.count(BYTES, BYTES, Method::Through, || clock);
            in_a_row = if method == Method::Through { in_a_row + 1 } else { 0 };
            clock += match method {
                Method::Through if in_a_row > 10 => 600_000,
                Method::Through => 1_500_000,
                _ => 700_000,
            };
            method == Method::Through
        });
        let used = used.count();
        assert!(used >= 9_200, "{used}");
    }

    #[test]
    fn another_method_is_used_once_it_is_faster() {
        let (choice, mut clock) = (Choice::new(), 0);
        copies(&choice, Method::Through, &mut clock, 2_000, |_| [600_000, 700_000, 800_000]);
        let used = copies(&choice, Method::Through, &mut clock, 4_000, |_| [900_000, 700_000, 800_000]);
        assert!(used[Method::Past as usize] >= 3_500, "{used:?}");
        let used = copies(&choice, Method::Through, &mut clock, 4_000, |_| [900_000, 700_000, 300_000]);
        assert!(used[Method::PastByPages as usize] >= 3_500, "{used:?}");
    }

    #[test]
    fn few_copies_are_made_by_slow_methods() {
        for (bytes, count, least) in [(BYTES, 500, 450), (VERY_LARGE, 100, 85)] {
            let (choice, mut clock) = (Choice::new(), 0);
            let used = (0..count).filter(|_| {
                let method = choice.count(bytes, bytes, Method::Through, || clock);
                clock += [600_000, 800_000, 900_000][method as usize];
                method == Method::Through
            });
            let used = used.count();
            assert!(used >= least, "{used} of {count} copies of {bytes} bytes");
        }
    }

    #[test]
    fn parts_of_a_copy_count_as_what_they_copy() {
        let choice = Choice::new();
        let mut clock = Vec::new();
        for part in 0..128 {
            choice.count(BYTES / 4, BYTES, Method::Through, || {
                clock.push(part);
                0
            });
        }
        // By turns before a trial and at its end.
        assert_eq!(clock, [0, 16, 20, 24, 28].map(|copy| copy * 4));
    }
}

//! Offering the core to other threads, and noticing that one of them ran.

use std::time::{Duration, Instant};

/// The clock and the scheduler as a back-off uses them; tests bring their own.
pub trait Scheduler {
    /// The time.
    fn now(&mut self) -> Instant;
    /// Offers the core to other threads. How long others ran on it, as far as the caller could
    /// notice since the offer before; zero if none did.
    fn offer(&mut self) -> Duration;
    /// The caller is about to sleep: others that run meanwhile do not count.
    fn sleeps(&mut self);
}

/// The operating system's scheduler, as one wait sees it.
#[derive(Debug, Default)]
pub struct Core {
    /// Involuntary context switches of the thread when it last looked, and when that was.
    last: Option<(i64, Instant)>,
}

impl Scheduler for Core {
    fn now(&mut self) -> Instant {
        Instant::now()
    }

    /// The kernel counts a yield as an involuntary context switch if another thread ran. Reading
    /// the count takes as long as the yield, so it is read after a delay only, which an interrupt
    /// or the hypervisor can cause, too.
    fn offer(&mut self) -> Duration {
        /// A yield takes longer than this if another thread ran.
        const YIELD: Duration = Duration::from_micros(2);
        /// The polls between two offers take longer than this if another thread took the core.
        const POLLS: Duration = Duration::from_micros(200);

        let begin = Instant::now();
        let (switches, last) = *self.last.get_or_insert_with(|| (involuntary_switches(), begin));
        std::thread::yield_now();
        let end = Instant::now();
        let (polls, offer) = (begin - last, end - begin);
        let mut away = Duration::ZERO;
        let mut seen = switches;
        if offer > YIELD || polls > POLLS {
            seen = involuntary_switches();
            if seen != switches {
                away = if polls > POLLS { polls + offer } else { offer };
            }
        }
        self.last = Some((seen, end));
        away
    }

    fn sleeps(&mut self) {
        self.last = None;
    }
}

/// How often the kernel has taken the core from this thread for another one.
fn involuntary_switches() -> i64 {
    // SAFETY: plain integers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_nivcsw
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Another thread that computes on the same core is noticed.
    #[test]
    fn a_neighbour_on_the_core_is_noticed() {
        let mask = sched_getaffinity(None).unwrap();
        let first = (0..CpuSet::MAX_CPU).find(|cpu| mask.is_set(*cpu)).unwrap();
        let mut one = CpuSet::new();
        one.set(first);
        let (stop, runs) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sched_setaffinity(None, &one).unwrap();
                while !stop.load(Relaxed) {
                    runs.store(true, Relaxed);
                }
            });
            scope.spawn(|| {
                sched_setaffinity(None, &one).unwrap();
                while !runs.load(Relaxed) {
                    std::thread::yield_now();
                }
                let mut core = Core::default();
                while core.offer().is_zero() {}
                stop.store(true, Relaxed);
            });
        });
    }
}

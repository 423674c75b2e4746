//! Sleeping on a 32-bit word until another thread wakes the sleeper.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use rustix::thread::futex::{self, Flags, Timespec};
use rustix::time::{ClockId, clock_gettime};

/// All bits: every sleeper of a word.
pub const ANY: u32 = u32::MAX;

/// Sleeps while `*word == expected`, at most `timeout`, until a thread wakes one of `bits`. The word
/// may lie in memory that processes share. Returns early for any reason (a signal, a changed
/// word): callers look at the word again.
pub fn wait(word: &AtomicU32, expected: u32, bits: u32, timeout: Option<Duration>) {
    sleep(word, Flags::empty(), expected, bits, timeout);
}

/// Wakes all threads that sleep on `word` for one of `bits`.
pub fn wake(word: &AtomicU32, bits: u32) {
    wake_bits(word, Flags::empty(), bits, u32::MAX);
}

/// As [`wait`], for a word that only threads of this process use, which costs the kernel less.
pub fn wait_private(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    sleep(word, Flags::PRIVATE, expected, ANY, timeout);
}

/// As [`wake`], for a word that only threads of this process use.
pub fn wake_private(word: &AtomicU32) {
    wake_bits(word, Flags::PRIVATE, ANY, u32::MAX);
}

/// As [`wake_private`], but wakes at most `threads`.
pub fn wake_some_private(word: &AtomicU32, threads: u32) {
    wake_bits(word, Flags::PRIVATE, ANY, threads);
}

fn sleep(word: &AtomicU32, flags: Flags, expected: u32, bits: u32, timeout: Option<Duration>) {
    // FUTEX_WAIT_BITSET takes a point in time of CLOCK_MONOTONIC, not a length of time.
    let deadline = timeout.map(|timeout| {
        let now = clock_gettime(ClockId::Monotonic);
        let nanos = now.tv_nsec + i64::from(timeout.subsec_nanos());
        Timespec {
            tv_sec: now.tv_sec + timeout.as_secs() as i64 + nanos / 1_000_000_000,
            tv_nsec: nanos % 1_000_000_000,
        }
    });
    if let Some(bits) = NonZeroU32::new(bits) {
        // Every error (interrupted, timed out, changed already) means: look again.
        let _ = futex::wait_bitset(word, flags, expected, deadline.as_ref(), bits);
    }
}

fn wake_bits(word: &AtomicU32, flags: Flags, bits: u32, threads: u32) {
    if let Some(bits) = NonZeroU32::new(bits) {
        // Fails for addresses that cannot be futexes only, of which a reference is none.
        let _ = futex::wake_bitset(word, flags, threads.min(i32::MAX as u32), bits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;
    use std::time::Instant;

    #[test]
    fn a_changed_word_and_a_timeout_end_the_sleep() {
        let word = AtomicU32::new(1);
        wait(&word, 0, ANY, None);
        let begin = Instant::now();
        wait(&word, 1, ANY, Some(Duration::from_millis(20)));
        assert!(begin.elapsed() >= Duration::from_millis(20));
        wait_private(&word, 1, Some(Duration::from_millis(1)));
    }

    #[test]
    fn a_waker_ends_the_sleep() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, 2, None);
                }
            });
            word.store(1, SeqCst);
            wake(&word, 2);
        });
    }
}

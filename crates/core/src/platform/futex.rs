//! Sleeping on a 32-bit word that may live in memory shared between processes.

use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `*word == expected`, at most `timeout`, until woken on one of `bits`.
/// Returns early for any reason (a signal, a changed word): callers look again.
pub fn wait(word: &AtomicU32, expected: u32, bits: u32, timeout: Option<Duration>) {
    let deadline = timeout.map(|t| {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the pointer is to a live timespec.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        let nanos = now.tv_nsec as u64 + u64::from(t.subsec_nanos());
        libc::timespec {
            tv_sec: now.tv_sec + t.as_secs() as i64 + (nanos / 1_000_000_000) as i64,
            tv_nsec: (nanos % 1_000_000_000) as _,
        }
    });
    let deadline = deadline
        .as_ref()
        .map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: FUTEX_WAIT_BITSET reads the word and the deadline, both live here. Not
    // FUTEX_PRIVATE: the waker may be another process.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET,
            expected,
            deadline,
            std::ptr::null::<u32>(),
            bits,
        )
    };
}

/// Wakes all sleepers on `word` that wait on one of `bits`.
pub fn wake(word: &AtomicU32, bits: u32) {
    // SAFETY: FUTEX_WAKE_BITSET takes the address as a key only.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET,
            i32::MAX,
            std::ptr::null::<libc::timespec>(),
            std::ptr::null::<u32>(),
            bits,
        )
    };
}

/// All bits: every sleeper of a word.
pub const ANY: u32 = u32::MAX;

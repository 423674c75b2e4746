//! How long a thread was ready to run and had no core, as the kernel counts it (`/proc/thread-self/schedstat`).
//!
//! A look takes a microsecond, so it is taken where a call, or the time between two, is long: a thread that lost its
//! core has such a one.

use std::cell::{Cell, OnceCell};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Nanoseconds of a call, or between two, from which on the kernel is asked.
const LONG: u64 = 100_000;

thread_local! {
    /// The kernel's count; none where it keeps none.
    static COUNT: OnceCell<Option<File>> = const { OnceCell::new() };
    /// Its value at the last look, and the end of the last call.
    static SEEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Nanoseconds that this thread has been ready to run without a core.
fn delay() -> Option<u64> {
    COUNT
        .try_with(|count| {
            let file = count.get_or_init(|| File::open("/proc/thread-self/schedstat").ok());
            let mut text = [0; 64];
            let len = file.as_ref()?.read_at(&mut text, 0).ok()?;
            second_number(&text[..len])
        })
        .ok()?
}

/// The second of the numbers in a text.
fn second_number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// A call begins: nanoseconds without a core since the last one ended, if that is long ago. Else None, and the kernel
/// was not asked.
#[inline]
pub(super) fn between(now: u64) -> Option<u64> {
    let (_, end) = SEEN.get();
    let elapsed = now.saturating_sub(end);
    (elapsed >= LONG).then(|| since_last_look(elapsed, end == 0))
}

/// A call has ended: nanoseconds without a core in it, if it was long.
#[inline]
pub(super) fn during(begin: u64, end: u64) -> u64 {
    let elapsed = end.saturating_sub(begin);
    let without = if elapsed >= LONG { since_last_look(elapsed, false) } else { 0 };
    SEEN.set((SEEN.get().0, end));
    without
}

/// The delay since the last look, which is less than `elapsed`; of the first look none is known.
#[cold]
#[inline(never)]
fn since_last_look(elapsed: u64, is_first: bool) -> u64 {
    let Some(now) = delay() else {
        return 0;
    };
    let (before, end) = SEEN.get();
    SEEN.set((now, end));
    if is_first { 0 } else { now.saturating_sub(before).min(elapsed) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_count_is_read() {
        assert_eq!(second_number(b"12 345 6\n"), Some(345));
        assert_eq!(second_number(b"12"), None);
        // Where it keeps a count, that never falls.
        let first = delay();
        assert!(first.is_none() || delay() >= first);
    }

    #[test]
    fn short_calls_are_not_looked_at() {
        assert_eq!(between(LONG * 5), Some(0));
        assert_eq!(during(LONG * 5, LONG * 5 + 10), 0);
        assert_eq!(between(LONG * 5 + 20), None);
        assert!(during(LONG * 6, LONG * 8) <= 2 * LONG);
    }
}

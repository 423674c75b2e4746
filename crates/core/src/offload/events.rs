//! The event counter on which idle threads sleep until there are chunks.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use ferroshmem_platform::futex;

/// What the counter needs of a word. The real one is an `AtomicU32` of this process; the model checker brings its own.
pub trait EventWord {
    /// Reads with acquire order.
    fn load(&self) -> u32;
    /// Replaces `old` by `new`, acquire and release, if it is still there; whether it was.
    fn replace(&self, old: u32, new: u32) -> bool;
    /// Adds, acquire and release, wrapping; the value before.
    fn add(&self, value: u32) -> u32;
    /// Sleeps while the word is `expected`, at most `longest`; may return early.
    fn sleep(&self, expected: u32, longest: Option<Duration>);
    /// Wakes at most `threads` sleepers.
    fn wake(&self, threads: u32);
}

impl EventWord for AtomicU32 {
    #[inline]
    fn load(&self) -> u32 {
        self.load(Ordering::Acquire)
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    #[inline]
    fn add(&self, value: u32) -> u32 {
        self.fetch_add(value, Ordering::AcqRel)
    }

    fn sleep(&self, expected: u32, longest: Option<Duration>) {
        futex::wait_private(self, expected, longest);
    }

    fn wake(&self, threads: u32) {
        futex::wake_some_private(self, threads);
    }
}

/// The number of sleepers is in the lower bits; those above count the posts.
const POST: u32 = 1 << 12;

/// Posts an event: `wanted` threads that sleep, or are about to, look for chunks. After the chunks were offered.
#[inline]
pub fn post(events: &impl EventWord, wanted: u32) {
    let sleepers = count(events);
    wake(events, wanted, sleepers);
}

/// The first half of [`post`], which threads that poll see; how many threads sleep or are about to.
#[inline]
pub fn count(events: &impl EventWord) -> u32 {
    events.add(POST) % POST
}

/// The second half of [`post`], which calls the system if there are `sleepers`.
#[inline]
pub fn wake(events: &impl EventWord, wanted: u32, sleepers: u32) {
    if sleepers > 0 {
        events.wake(wanted.min(sleepers));
    }
}

/// How many events have been posted, for threads that poll.
#[inline]
pub fn posts(events: &impl EventWord) -> u32 {
    events.load() / POST
}

/// Looks `times` times whether there have been more than `posts` posts.
#[inline]
pub fn come(events: &impl EventWord, posts: u32, times: u32) -> bool {
    (0..times).any(|_| {
        let have_come = self::posts(events) != posts;
        if !have_come {
            std::hint::spin_loop();
        }
        have_come
    })
}

/// Sleeps until an event is posted, at most `longest`, unless there `is_work`. May return early.
///
/// A post is one addition to the word, which all changes of the word are ordered with. If it comes before the load,
/// this thread has acquired the offer before it, and sees the chunks. If it comes between load and replacement, this
/// one fails. If it comes after, it has found a sleeper and wakes one, or the kernel, which compares the word again,
/// does not let this thread sleep.
pub fn wait(events: &impl EventWord, longest: Option<Duration>, is_work: impl Fn() -> bool) {
    let seen = events.load();
    if is_work() || !events.replace(seen, seen + 1) {
        return;
    }
    events.sleep(seen + 1, longest);
    events.add(1u32.wrapping_neg());
}

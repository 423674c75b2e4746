//! What the models share: a word with a futex, and cells whose accesses loom checks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ferroshmem_core::wait::{Next, Rest, WaitStrategy, Word};
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicU32;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

/// A word with a modelled futex: its value, and a count of wake-ups under a lock.
pub(crate) struct ModelWord {
    pub(crate) value: AtomicU32,
    queue: Mutex<u32>,
    woken: Condvar,
}

impl ModelWord {
    pub(crate) fn new() -> Self {
        Self { value: AtomicU32::new(0), queue: Mutex::new(0), woken: Condvar::new() }
    }
}

impl Word for ModelWord {
    fn load(&self) -> u32 {
        self.value.load(Ordering::Acquire)
    }

    fn swap(&self, value: u32) -> u32 {
        self.value.swap(value, Ordering::AcqRel)
    }

    fn replace(&self, old: u32, new: u32) -> bool {
        self.value.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn fetch_add(&self, value: u32) -> u32 {
        self.value.fetch_add(value, Ordering::AcqRel)
    }

    fn watch(&self, _seen: u32) {
        thread::yield_now();
    }

    /// As the kernel does: compares under the queue's lock, then sleeps.
    fn sleep(&self, expected: u32, _bits: u32, _longest: Option<Duration>, _rest: Rest) {
        let mut wakes = self.queue.lock().unwrap();
        // The kernel reads the word itself, not a value that this thread may see late.
        if self.value.fetch_add(0, Ordering::AcqRel) == expected {
            let before = *wakes;
            while *wakes == before {
                wakes = self.woken.wait(wakes).unwrap();
            }
        }
    }

    fn wake(&self, _bits: u32) {
        *self.queue.lock().unwrap() += 1;
        self.woken.notify_all();
    }
}

/// Sleeps at once: spinning is only a faster way to the same states.
pub(crate) struct AlwaysSleep;

impl WaitStrategy for AlwaysSleep {
    fn after_idle_poll(&mut self) -> Next {
        Next::Sleep(Rest::UNTIL_WOKEN)
    }
}

/// Data written before a synchronisation and read after it: loom reports a race if the
/// algorithm does not order the two.
pub(crate) struct Cells([UnsafeCell<u32>; 4]);

// SAFETY: the accesses are ordered by what is tested; loom checks that they are.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    pub(crate) fn new() -> Self {
        Self([(); 4].map(|()| UnsafeCell::new(0)))
    }

    pub(crate) fn write(&self, i: usize, value: u32) {
        // SAFETY: see the type; loom tracks the access.
        self.0[i].with_mut(|p| unsafe { *p = value });
    }

    pub(crate) fn read(&self, i: usize) -> u32 {
        // SAFETY: see the type; loom tracks the access.
        self.0[i].with(|p| unsafe { *p })
    }
}

/// A thread beside this one, which has what both share.
pub(crate) fn beside<S: Send + Sync + 'static, T: 'static>(
    shared: &Arc<S>,
    run: impl FnOnce(&S) -> T + Send + 'static,
) -> thread::JoinHandle<T> {
    let shared = shared.clone();
    thread::spawn(move || run(&shared))
}

/// Calls `member` with its number for each of `size` members, and what they share: the first is this thread.
pub(crate) fn members<S: Send + Sync + 'static>(
    size: usize,
    shared: S,
    member: impl Fn(usize, &S) + Copy + Send + 'static,
) {
    let shared = Arc::new(shared);
    let others: Vec<_> = (1..size).map(|me| beside(&shared, move |shared| member(me, shared))).collect();
    member(0, &shared);
    for other in others {
        other.join().unwrap();
    }
}

pub(crate) fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

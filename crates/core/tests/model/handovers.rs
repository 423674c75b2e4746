//! What is handed over by a word or two.

use std::sync::atomic::Ordering;

use ferroshmem_core::wait::idle_thread;
use loom::sync::Arc;
use loom::sync::atomic::AtomicU32;

use super::common::{beside, model};

/// The words of loom.
struct Loom;
ferroshmem_platform::atomics!(Loom, loom);

/// A waiter registers with the idle thread while this falls asleep: the thread sees that, or the waiter wakes it.
#[test]
fn the_idle_thread_does_not_sleep_beside_a_sleeper() {
    model(4, || {
        let shared = Arc::new((AtomicU32::new(0), AtomicU32::new(0)));
        // The thread has been started.
        idle_thread::rouse::<Loom>(&shared.0);
        let waiter = beside(&shared, |(state, sleepers)| {
            sleepers.store(1, Ordering::Relaxed);
            idle_thread::rouse::<Loom>(state).is_some()
        });
        let (state, sleepers) = &*shared;
        let sleeps = idle_thread::doze::<Loom>(state, || sleepers.load(Ordering::Relaxed) > 0);
        let wakes = waiter.join().unwrap();
        assert!(wakes || !sleeps);
    });
}

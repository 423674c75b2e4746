//! How many records and sends wait for room, which is read without the lock.

use std::sync::atomic::Ordering;

use ferroshmem_platform::atomic::{Atomic as _, Atomics, Std};

/// The count.
#[derive(Debug, Default)]
pub(super) struct Queued<A: Atomics = Std>(A::U32);

impl<A: Atomics> Queued<A> {
    /// Sets it, after what a thread has written of the queue.
    pub(super) fn set(&self, count: usize) {
        self.0.store(count as u32, Ordering::Release);
    }

    /// Whether nothing waits: what this thread writes to an inbox is behind all that has waited.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    ferroshmem_platform::atomics!();

    /// A thread writes a record that has waited, and another one sends a message by which it goes past the queue.
    #[test]
    fn a_send_is_behind_what_has_waited() {
        use loom::{sync::Arc, sync::atomic::AtomicU64, thread};
        loom::model(|| {
            let queued = Queued::<Loom>::default();
            queued.set(1);
            let shared = Arc::new((queued, AtomicU64::new(0)));
            let other = shared.clone();
            let other = thread::spawn(move || {
                other.1.store(1, Ordering::Relaxed);
                other.0.set(0);
            });
            let (queued, tail) = &*shared;
            if queued.is_empty() {
                assert_eq!(tail.load(Ordering::Relaxed), 1);
            }
            other.join().unwrap();
        });
    }
}

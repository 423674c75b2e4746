//! Where a PE sleeps that waits for variables which other PEs update and then notify it of.

use std::sync::atomic::{Ordering, fence};
use std::time::{Duration, Instant};

use ferroshmem_fabric::Fabric;

use super::record::WaitReason;
use super::strategy::{Next, WaitStrategy, Waiter};
use crate::futex;
use ferroshmem_layout::SignalLine;

/// First and longest sleep between polls of a waiter that is notified of most updates.
pub const NOTIFIED: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(16));
/// The same for one that may not be.
pub const UNNOTIFIED: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(1));

/// What sleepers and those that wake them need of a line. The real one is a [`SignalLine`]; the model checker brings
/// its own.
pub trait SignalWords {
    /// A thread sleeps, or is about to. In no order, as all but `updates`.
    fn add_sleeper(&self);
    /// It does not.
    fn remove_sleeper(&self);
    /// Whether there are any.
    fn has_sleepers(&self) -> bool;
    /// Counts an update that has found sleepers.
    fn count_update(&self);
    /// How many there have been, with acquire order.
    fn updates(&self) -> u32;
    /// A sequentially consistent fence.
    fn fence(&self);
    /// Wakes all sleepers.
    fn wake(&self);
}

impl SignalWords for SignalLine {
    fn add_sleeper(&self) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
    }

    fn remove_sleeper(&self) {
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    #[inline]
    fn has_sleepers(&self) -> bool {
        self.sleepers.load(Ordering::Relaxed) != 0
    }

    #[inline]
    fn count_update(&self) {
        self.updates.fetch_add(1, Ordering::Relaxed);
    }

    fn updates(&self) -> u32 {
        self.updates.load(Ordering::Acquire)
    }

    #[inline]
    fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn wake(&self) {
        futex::wake(&self.updates, futex::ANY);
    }
}

/// Wakes the threads that sleep until a signal of their PE changes. Called after the update.
#[inline]
pub fn notify(signals: &impl SignalWords) {
    // With the fence in `last_look`: either this sees the sleeper, or the sleeper's last look sees the update.
    signals.fence();
    if signals.has_sleepers() {
        signals.count_update();
        signals.wake();
    }
}

/// Looks a last time, and sleeps if `condition` gives no result: `sleep` does so while the count of updates is what it
/// is given.
///
/// The count is read with acquire order, and before the look: if an update has raised it already, so that the kernel
/// lets this thread sleep, the look sees what was updated.
pub fn last_look<R>(
    signals: &impl SignalWords,
    mut condition: impl FnMut() -> Option<R>,
    sleep: impl FnOnce(u32),
) -> Option<R> {
    signals.add_sleeper();
    signals.fence();
    let updates = signals.updates();
    let result = condition();
    if result.is_none() {
        sleep(updates);
    }
    signals.remove_sleeper();
    result
}

/// Waits until `condition` gives a result, asleep if it takes long: until a PE notifies of an update
/// of `signals`, something arrives over `fabric`, or the sleep is over.
pub fn wait<R>(
    signals: &SignalLine,
    fabric: Option<&'static Fabric>,
    reason: &WaitReason<'_>,
    (first, longest): (Duration, Duration),
    mut condition: impl FnMut() -> Option<R>,
) -> R {
    let mut waiter = Waiter::internode(fabric, *reason);
    let mut sleep = first;
    loop {
        if let Some(result) = condition() {
            return result;
        }
        let Next::Sleep(rest) = waiter.after_idle_poll() else {
            continue;
        };
        let result = last_look(signals, &mut condition, |updates| {
            let begin = Instant::now();
            rest.sleep(&signals.updates, updates, futex::ANY, Some(sleep));
            sleep = (sleep * 2).min(longest);
            if fabric.is_some() && signals.updates.load(Ordering::Relaxed) != updates {
                waiter.reset(begin.elapsed());
            }
        });
        if let Some(result) = result {
            return result;
        }
    }
}
